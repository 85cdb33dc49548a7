"""The run folder: made, changed in whole steps, found again, known to be alive or not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.record.events import read_events
from stream2gym.record.folder import RunFolder, find_run, list_runs
from stream2gym.record.journal import SENT, Journal


def test_a_new_folder_has_its_name_and_its_parts(tmp_path: Path) -> None:
    folder = RunFolder.create("rides", seed=7, base=tmp_path, versions={"kafka": "4.3.1"})
    assert re.fullmatch(r"rides-\d{8}-\d{6}-[0-9a-f]{4}", folder.path.name)
    assert all((folder.path / part).is_dir() for part in ("input", "raw", "data", "logs", "work"))
    info = RunFolder.open(folder.path).info
    assert (info["format"], info["seed"], info["state"], info["versions"]) == (
        1,
        7,
        "running",
        {"kafka": "4.3.1"},
    )


def test_out_names_the_folder_and_never_overwrites(tmp_path: Path) -> None:
    RunFolder.create("a", seed=1, out=tmp_path / "mine")
    with pytest.raises(BadInput, match="not an empty folder"):
        RunFolder.create("a", seed=1, out=tmp_path / "mine")


def test_the_state_changes_and_t0_is_told_on_both_clocks(tmp_path: Path) -> None:
    folder = RunFolder.create("a", seed=1, base=tmp_path)
    t0 = time.monotonic_ns() + 1_000_000_000
    folder.set_t0(t0)
    folder.set_phase("load")
    folder.set_state("done")
    info = folder.info
    assert (info["t0_ns"], info["phase"], info["state"]) == (t0, "load", "done")
    assert folder.t0_ns == t0
    assert info["t0_wall"] > info["created"]
    assert not list(folder.path.glob(".*.new"))


def test_a_run_whose_owner_died_is_crashed(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from stream2gym.record.folder import RunFolder;"
        "folder = RunFolder.create('a', seed=1, out=Path(sys.argv[1])); print('up', flush=True); sys.stdin.read()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "r")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "up\n"
    folder = RunFolder.open(tmp_path / "r")
    assert (folder.state, folder.is_running()) == ("running", True)
    owner.kill()
    owner.wait()
    assert (folder.state, folder.is_running()) == ("crashed", False)


def test_runs_are_listed_newest_first_and_a_running_one_wins(tmp_path: Path) -> None:
    folders = []
    for number, name in enumerate(["a", "b", "a"]):
        folder = RunFolder.create(name, seed=1, out=tmp_path / f"{name}-2025010{number}-000000-0000")
        folder.update(created=f"2025-01-0{number + 1}T00:00:00+00:00")
        folders.append(folder)
    for folder in (folders[0], folders[2]):
        folder.set_state("done")
        folder.release()
    (tmp_path / "noise").mkdir()
    assert [run.path for run in list_runs(tmp_path)] == [folder.path for folder in reversed(folders)]
    assert find_run("latest", tmp_path).path == folders[1].path
    folders[1].release()
    assert find_run("latest", tmp_path).path == folders[2].path
    assert find_run("a", tmp_path).path == folders[2].path
    assert find_run(folders[0].path.name, tmp_path).path == folders[0].path
    assert find_run(str(folders[1].path)).path == folders[1].path


def test_a_run_that_is_not_there_is_a_clear_mistake(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"there are no runs in .* yet"):
        find_run("x", tmp_path)
    with pytest.raises(BadInput, match="is not a run folder"):
        RunFolder.open(tmp_path)


def test_a_folder_of_a_later_format_is_refused(tmp_path: Path) -> None:
    folder = RunFolder.create("a", seed=1, base=tmp_path)
    folder.update(format=99)
    with pytest.raises(BadInput, match="format 99"):
        RunFolder.open(folder.path)


def test_each_start_of_a_client_has_a_journal_of_its_own(tmp_path: Path) -> None:
    folder = RunFolder.create("a", seed=1, base=tmp_path)
    for start in (1, 2, 3):
        path, identity = folder.new_journal("sent", "gen", 2)
        assert identity.incarnation == start
        Journal(path, SENT, identity).close()
    assert folder.new_journal("sent", "gen", 1)[1].incarnation == 1


def test_events_are_lines_that_several_may_write(tmp_path: Path) -> None:
    folder = RunFolder.create("a", seed=1, base=tmp_path)
    folder.set_t0(1_000)
    folder.events.add("phase", at_ns=2_000_001_000, phase="load")
    RunFolder.open(folder.path).events.add("fault", name="cut")
    with (folder.path / "events.jsonl").open("a") as file:
        file.write('{"torn')
    events = folder.read_events()
    assert [event["event"] for event in events] == ["phase", "fault"]
    assert (events[0]["t_s"], events[0]["phase"]) == (2.0, "load")
    assert list(read_events(tmp_path / "none.jsonl")) == []


def test_nothing_in_the_folder_names_a_place_outside(tmp_path: Path) -> None:
    folder = RunFolder.create("a", seed=1, base=tmp_path)
    folder.events.add("phase", phase="created")
    texts = [path.read_text() for path in folder.path.rglob("*") if path.is_file()]
    assert not any(str(tmp_path) in text or os.getcwd() in text for text in texts)
    assert json.loads((folder.path / "run.json").read_text())["id"] == folder.path.name
