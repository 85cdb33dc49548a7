"""The example notebook runs as it stands, and the output that it keeps is what it gives.

``python -m tests.system.test_notebook`` runs it and keeps the new output in it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebook" / "broker-crash.ipynb"

pytestmark = pytest.mark.long


def execute(folder: Path) -> Any:
    """The notebook after all its cells have run in this folder."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    return client.execute()


def list_outputs(notebook: Any) -> list[list[tuple[str, list[str]]]]:
    """The kinds of what each cell gives, without its contents."""
    return [
        [(one["output_type"], sorted(one.get("data", {}))) for one in cell["outputs"]]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def test_the_notebook_runs_and_shows_progress_verdict_figures_and_tables(tmp_path: Path) -> None:
    kept = json.loads(NOTEBOOK.read_text("utf-8"))
    found = execute(tmp_path)
    assert list_outputs(found) == list_outputs(kept)
    _, ran, figure, figures, counts, judged = (cell for cell in found["cells"] if cell["cell_type"] == "code")
    progress, result = (output["data"]["text/html"] for output in ran["outputs"])
    assert "load" in progress
    assert "sent" in progress
    assert "<h3>orders: " in result
    assert "lost == 0" in result
    assert "data:image/svg+xml;base64," in figure["outputs"][0]["data"]["text/html"]
    assert "latency-time" in figures["outputs"][0]["data"]["text/plain"]
    assert counts["outputs"][0]["data"]["text/plain"].startswith("{0.0: ")
    assert ran["outputs"][1]["data"]["text/plain"].startswith("<result orders-run: ")
    assert "latency.p50 < 1 s" in judged["outputs"][0]["data"]["text/plain"]
    assert (tmp_path / "orders-run" / "report.html").is_file()


def test_the_kept_output_names_no_folder_of_a_machine() -> None:
    text = NOTEBOOK.read_text("utf-8")
    assert "/home/" not in text
    assert "/root" not in text
    assert "/tmp" not in text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        done = execute(Path(folder))
    for cell in done["cells"]:
        cell["metadata"] = {}
    NOTEBOOK.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", "utf-8")
