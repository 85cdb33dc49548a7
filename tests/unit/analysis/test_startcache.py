"""The start-up cache of the analysis: made beside the downloads of a first run, and never in the way."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis import startcache
from stream2gym.analysis.startcache import OLDEST_WITH_CACHE, STALE_S, Rehearsal
from stream2gym.api import prepare, waits_for_downloads
from stream2gym.errors import Interrupted
from stream2gym.software.java import JavaRuntime


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Rehearsals are programs that only wait to be ended."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(_command: Any, _log: Path, _folder: Path) -> subprocess.Popen[bytes]:
        processes.append(subprocess.Popen(["sleep", "600"]))
        return processes[-1]

    java = JavaRuntime("home", "java", f"{OLDEST_WITH_CACHE}.0.1", bundled=True)
    monkeypatch.setattr(startcache, "find_java", lambda: java)
    monkeypatch.setattr(startcache, "start_options", lambda _java: ())
    monkeypatch.setattr(startcache.child, "start", start)
    return processes


def test_a_run_goes_on_when_the_rehearsal_is_over(started: list[subprocess.Popen[bytes]]) -> None:
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


def test_an_interrupt_ends_the_rehearsal_too(started: list[subprocess.Popen[bytes]]) -> None:
    def progress(_what: str, _done: int, _total: int) -> None:
        raise Interrupted("stopped by the user")

    with Rehearsal() as rehearsal:
        rehearsal.start()
        with pytest.raises(Interrupted):
            rehearsal.wait(progress)
    assert started[0].poll() is not None


def test_a_rehearsal_that_takes_too_long_is_given_up(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startcache, "REHEARSAL_S", 0.05)
    with Rehearsal() as rehearsal:
        rehearsal.start()
        rehearsal.wait(lambda *_words: None)
        assert started[0].poll() is not None


def test_without_a_rehearsal_nobody_waits(started: list[subprocess.Popen[bytes]]) -> None:
    with Rehearsal() as rehearsal:
        rehearsal.wait(lambda *_words: pytest.fail("there is nothing to wait for"))
    assert started == []


def test_only_a_run_that_must_fetch_kafka_rehearses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2G_CACHE", str(tmp_path))
    with_brokers, _ = prepare("hello")
    without, _ = prepare("network")
    assert waits_for_downloads(with_brokers)
    assert not waits_for_downloads(without)


def test_what_a_killed_rehearsal_left_is_swept(tmp_path: Path) -> None:
    old, new = tmp_path / "rehearsal-old", tmp_path / "rehearsal-new"
    for folder in (old, new):
        folder.mkdir()
    past = new.stat().st_mtime - 2 * STALE_S
    os.utime(old, (past, past))
    startcache._sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rehearsal-new"]
