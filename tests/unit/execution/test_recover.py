"""The record of a run that was killed: it is sealed, ends where it ended, and never looks whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import find_load_end_s
from stream2gym.errors import BadInput
from stream2gym.execution import recover as recovering
from stream2gym.execution.recover import recover
from stream2gym.judge.judge import judge
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import ACKED, MARK, SENT, Journal
from stream2gym.record.journal_writers import SampleLog
from stream2gym.record.schemas import read_table

T0_NS = 10**12
SECOND_NS = 10**9


@pytest.fixture
def killed(tmp_path: Path) -> RunFolder:
    """A run of 30 s that was killed after two of them: journals, events, a lock that nobody holds."""
    folder = RunFolder.create("killed", seed=1, out=tmp_path / "run")
    folder.set_t0(T0_NS)
    folder.set_phase("load")
    folder.events.add("phase", at_ns=T0_NS, phase="load")
    path, identity = folder.new_journal("sent", "gen")
    sent = Journal(path, SENT, identity)
    sent.append(T0_NS + SECOND_NS, T0_NS + SECOND_NS, 0, 12, 25, sent.number("t"), MARK)
    sent.amend(0, 0, 0, T0_NS + SECOND_NS, 0, ACKED)
    samples = SampleLog(folder.raw, "monitors")
    samples.add("fabric", "h1 -- s1", "bytes", 1.0, at_ns=T0_NS + 2 * SECOND_NS)
    (folder.path / "control.sock").touch()
    (folder.path / "hosts.sock").touch()
    (folder.path / ".private").mkdir()
    folder.release()
    return folder


def ends(folder: RunFolder) -> list[dict[str, object]]:
    return [event for event in folder.read_events() if event["event"] == "run-failed"]


def test_its_journals_become_tables_and_what_only_a_living_run_needs_goes(killed: RunFolder) -> None:
    assert recover(killed)
    assert killed.info["sealed"]
    assert read_table(killed.data, "sent").num_rows == 1
    assert not any((killed.path / name).exists() for name in ("raw", "control.sock", "hosts.sock", ".private"))
    assert not killed.is_running()


def test_it_ends_at_the_last_moment_that_it_knows_with_the_reason(killed: RunFolder) -> None:
    recover(killed)
    [end] = ends(killed)
    assert end["t_s"] == 2.0
    assert end["reason"] == "stream2gym was killed in the phase 'load'"
    assert killed.state == "crashed"
    assert find_load_end_s(tuple(killed.read_events()), planned_s=30.0) == 2.0


def test_nothing_expected_of_it_is_unknown_and_not_a_pass(killed: RunFolder) -> None:
    recover(killed)
    verdict = judge([], Analysis(run="killed", load_s=2.0, step_s=1.0), killed.read_events())
    assert verdict.outcome == "unknown"
    assert verdict.doubts == ("the run did not go through: stream2gym was killed in the phase 'load'",)


def test_a_second_recovery_finds_nothing_to_do(killed: RunFolder) -> None:
    recover(killed)
    assert not recover(killed)
    assert len(ends(killed)) == 1


def test_a_recovery_that_was_cut_short_after_sealing_is_made_again(
    killed: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(recovering, "last_moment_ns", lambda _folder: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            recover(killed)
    assert killed.info["sealed"]
    assert ends(killed) == []
    assert recover(killed)
    assert len(ends(killed)) == 1


def test_a_run_that_somebody_owns_is_left_alone(killed: RunFolder) -> None:
    owner = RunFolder.open(killed.path)
    owner.own()
    with pytest.raises(BadInput, match="still goes on"):
        recover(killed)
    owner.release()


def test_a_torn_last_line_of_the_events_does_not_swallow_the_end(killed: RunFolder) -> None:
    with (killed.path / "events.jsonl").open("a") as events:
        events.write('{"at_ns": 1, "event": "pha')
    recover(killed)
    assert len(ends(killed)) == 1


def test_who_pressed_ctrl_c_twice_reads_that_and_not_that_it_crashed(killed: RunFolder) -> None:
    killed.set_state("interrupted", error="stopped at once by a second signal")
    recover(killed)
    assert killed.state == "interrupted"
    assert ends(killed)[0]["reason"] == "stopped at once by a second signal"
