"""The start-up cache of the analysis: made beside the downloads of a first run, and never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis import rehearsal as making
from stream2gym.analysis.analysis_start_cache import analysis_start_cache
from stream2gym.analysis.rehearsal import Rehearsal
from stream2gym.api import prepare, waits_for_downloads
from stream2gym.errors import Interrupted
from stream2gym.software.child_process import Guarded
from stream2gym.software.java import find_java


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Guarded]:
    """Rehearsals are programs that only wait to be ended."""
    guarded: list[Guarded] = []

    def start(_command: Any, folder: Path) -> Guarded:
        guarded.append(Guarded(["sleep", "600"], folder))
        return guarded[-1]

    monkeypatch.setenv("S2G_CACHE", str(tmp_path))  # nothing has been made there yet
    monkeypatch.setattr(making, "Guarded", start)
    return guarded


def test_a_run_goes_on_when_the_rehearsal_is_over(started: list[Guarded]) -> None:
    said: list[str] = []

    def progress(what: str, _done: int, _total: int) -> None:
        said.append(what)
        if len(said) == 3:
            started[0].kill()

    with Rehearsal() as rehearsal:
        rehearsal.start()
        rehearsal.wait(progress)
    assert set(said) == {"making the start-up cache of the analysis (once)"}
    assert started[0].poll() is not None


def test_an_interrupt_ends_the_rehearsal_too(started: list[Guarded]) -> None:
    def progress(_what: str, _done: int, _total: int) -> None:
        raise Interrupted("stopped by the user")

    with Rehearsal() as rehearsal:
        rehearsal.start()
        with pytest.raises(Interrupted):
            rehearsal.wait(progress)
    assert started[0].poll() is not None


def test_a_rehearsal_that_takes_too_long_is_given_up(started: list[Guarded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "REHEARSAL_S", 0.05)
    with Rehearsal() as rehearsal:
        rehearsal.start()
        rehearsal.wait(lambda *_words: None)
        assert started[0].poll() is not None


def test_without_a_rehearsal_nobody_waits(started: list[Guarded]) -> None:
    with Rehearsal() as rehearsal:
        rehearsal.wait(lambda *_words: pytest.fail("there is nothing to wait for"))
    assert started == []


def test_only_a_run_that_must_fetch_kafka_rehearses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2G_CACHE", str(tmp_path))
    with_brokers, _ = prepare("hello")
    without, _ = prepare("network")
    assert waits_for_downloads(with_brokers)
    assert not waits_for_downloads(without)


def test_nothing_is_rehearsed_where_the_cache_is_made_already(started: list[Guarded]) -> None:
    made = analysis_start_cache(find_java()).file
    made.parent.mkdir(parents=True)
    made.touch()
    with Rehearsal() as rehearsal:
        rehearsal.start()
    assert started == []
