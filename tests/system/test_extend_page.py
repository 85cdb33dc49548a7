"""The package on the page about plug-ins, installed as it stands there: its engine, fault and monitor in one run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from stream2gym.api import run
from stream2gym.record.folder import RunFolder
from stream2gym.record.schemas import read_table
from tests.support.manual import DOCS
from tests.support.packages import installed_package

PAGE = (DOCS / "extend.md").read_text("utf-8")
FILES = dict(re.findall(r'^```python title="([^"]+)"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL))
[EXPERIMENT] = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
[PROJECT] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def entry_points() -> str:
    """The entry points of the project as an installed package has them."""
    groups = tomllib.loads(PROJECT)["project"]["entry-points"]
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in groups.items()
    )


def test_the_page_names_an_engine_a_fault_and_a_monitor() -> None:
    assert set(FILES) == {"my_gym_engine.py", "my_gym_fault.py", "my_gym_monitor.py", "say.py"}
    for group in ("engines", "faults", "monitors"):
        assert f"[stream2gym.{group}]" in entry_points()


@pytest.mark.long
def test_all_three_work_in_the_experiment_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {name.removesuffix(".py"): text for name, text in FILES.items() if name.startswith("my_gym")}
    with installed_package(tmp_path / "site", "my_gym", modules, entry_points(), monkeypatch):
        path = tmp_path / "mine.yaml"
        path.write_text(EXPERIMENT)
        (tmp_path / "say.py").write_text(FILES["say.py"])
        result = run(path, out=tmp_path / "run", report=False)
    assert result.error is None
    # A busy machine may leave a figure of performance undecided; it never makes it wrong.
    assert {one.outcome for one in result.judged} <= {"pass", "unknown"}
    events = RunFolder.open(tmp_path / "run").read_events()
    [applied] = [event for event in events if event["event"] == "fault-applied"]
    assert (applied["do"], applied["on"], applied["settings"]) == ("hiccup", ["h1 -- s1"], {"extra_ms": 20.0})
    assert not [event for event in events if event["event"] in ("monitor-failed", "fault-failed", "died")]
    rows = read_table(tmp_path / "run" / "data", "samples").to_pylist()
    assert {row["value"] for row in rows if row["object"] == "bird" and row["metric"] == "letters"} == {4.0}
    assert [row for row in rows if row["source"] == "open-files"]
