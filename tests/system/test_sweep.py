"""The bundled sweep for real: three points in one process with one Spark session, interrupted once and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.wait import wait_until

LONG_S = 240.0
pytestmark = pytest.mark.timeout(2 * LONG_S)


@dataclass(frozen=True)
class Swept:
    """The bundled sweep: interrupted in its second run, then resumed."""

    path: Path
    interrupted: int
    ended_before: set[str]
    resumed: subprocess.CompletedProcess[str]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return pq.read_table(self.path / "responses.parquet").to_pylist()  # type: ignore[no-any-return]

    def verdict(self) -> dict[str, Any]:
        return json.loads((self.path / "verdict.json").read_text())  # type: ignore[no-any-return]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "stream2gym", "sweep", "link-latency", *words]


def ended(path: Path) -> set[str]:
    file = path / "results.jsonl"
    lines = file.read_text().splitlines() if file.is_file() else []
    return {json.loads(line)["run"] for line in lines}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    path = tmp_path_factory.mktemp("sweep") / "out"
    with (path.parent / "log").open("wb") as log:
        first = subprocess.Popen(command("--out", str(path)), stdout=log, stderr=log, process_group=0)

    def is_in_second_run() -> bool:
        assert first.poll() is None, (path.parent / "log").read_text()
        return len(ended(path)) == 1 and len(list((path / "points").glob("*/events.jsonl"))) == 2

    wait_until(is_in_second_run, timeout_s=LONG_S, reason="the second run of the sweep to begin")
    os.killpg(first.pid, signal.SIGINT)
    code = first.wait(LONG_S)
    before = ended(path)
    resumed = subprocess.run(
        command("--resume", str(path)), capture_output=True, text=True, timeout=LONG_S, check=False
    )
    return Swept(path, code, before, resumed)


def test_ctrl_c_ends_the_sweep_in_order_and_the_interrupted_run_is_not_taken_for_a_result(swept: Swept) -> None:
    assert swept.interrupted == 130
    assert len(swept.ended_before) == 1


def test_a_resumed_sweep_runs_what_is_left_and_shapes_are_never_judged_wrongly(swept: Swept) -> None:
    said = swept.resumed.stdout + swept.resumed.stderr
    # Unknown where the machine could not keep up; a failure would be wrong.
    assert swept.resumed.returncode in (0, 3), said
    assert len(ended(swept.path)) == 3
    assert "3/3" in swept.resumed.stderr
    verdict = swept.verdict()
    assert verdict["counts"] == {"pass": 3}, said
    assert {shape["outcome"] for shape in verdict["shapes"]} <= {"pass", "unknown"}


def test_every_point_has_values_within_bounds_that_its_links_allow(swept: Swept) -> None:
    rows = [row for row in swept.rows if row["response"] == "latency.mean"]
    assert [row["link.latency"] for row in rows] == ["5 ms", "60 ms", "150 ms"]
    for row in rows:
        # A message crosses the link twice.
        assert row["value"] > 2 * row["link.latency (s)"]
        assert row["low"] <= row["value"] <= row["high"]


def test_every_point_is_an_ordinary_run_folder(swept: Swept) -> None:
    for row in swept.rows:
        folder = RunFolder.open(swept.path / row["run"])
        assert folder.state == "done"
        assert (folder.path / "report.html").is_file()
        assert (folder.data / "sent.parquet").is_file()
        assert f"{row['link.latency']}" in (folder.path / "experiment.yaml").read_text()


def test_the_report_and_its_figures_are_there(swept: Swept) -> None:
    page = (swept.path / "report.html").read_text("utf-8")
    assert "latency.mean over link.latency: increasing" in page
    names = {path.name for path in (swept.path / "figures").iterdir()}
    assert {f"latency-mean-over-link-latency.{suffix}" for suffix in ("svg", "pdf", "csv")} <= names
