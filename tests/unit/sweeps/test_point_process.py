"""Processes that are asked in JSON: what they leave when they end, and what is said of one that ended by itself."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stream2gym.point_process import JsonProcess, ask_for_run
from stream2gym.sweeps.point import PointJob
from stream2gym.wait import wait_until

JOB = PointJob("p0001-r1", {}, 1, "p0001-r1")


def test_a_process_that_ended_by_itself_is_a_failed_run_with_what_it_said() -> None:
    with tempfile.TemporaryFile() as log, JsonProcess("stream2gym.nowhere", log=log) as process:
        result = ask_for_run(process, JOB)
    assert result.state == "failed"
    assert "the process of this run ended by itself (exit code 1)" in result.error
    assert "No module named stream2gym.nowhere" in result.error


def test_only_the_last_of_what_it_said_is_told() -> None:
    with tempfile.TemporaryFile() as log:
        log.write(b"x" * 5000)
        log.flush()
        with JsonProcess("stream2gym.nowhere", log=log) as process:
            assert ask_for_run(process, JOB).error.count("x") < 1000


def test_the_folder_of_a_guarded_process_goes_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    with tempfile.TemporaryFile() as log:
        # It waits for its input.
        process = JsonProcess("code", "-q", log=log, folder=folder)
        try:
            assert folder.is_dir()
            (folder / "file").write_text("x")
            assert process.is_alive()
        finally:
            process.close()
    assert not process.is_alive()
    wait_until(lambda: not folder.exists(), timeout_s=10, reason="the folder to be removed")
