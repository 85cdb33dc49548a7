"""Sweeps in trouble, for real: several runs at once that are interrupted or killed, and a disk that fills."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.shared_jvm import VARIABLE
from stream2gym.record.folder import RunFolder
from stream2gym.software import child_process
from stream2gym.wait import wait_until
from tests.support.leaks import left_behind, snapshot
from tests.support.users import myself

LONG_S = 300.0
pytestmark = [pytest.mark.long, pytest.mark.timeout(3 * LONG_S)]
SWEEP = """
sweep: 1
name: trouble
experiment: hello
set: {time: 3 s}
axes:
  link.latency: {set: topology.links.h2 -- s1.latency, values: [5 ms, 60 ms, 150 ms]}
responses: [latency.mean, lost]
expect:
  - latency.mean over link.latency: increasing
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP, "utf-8")
    return path


def attempts(path: Path) -> list[dict[str, Any]]:
    file = path / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def going(path: Path) -> list[Path]:
    """The runs of a sweep whose load has begun and that have not ended."""
    found = []
    for run in sorted((path / "points").glob("*")) if path.is_dir() else []:
        events = run / "events.jsonl"
        if events.is_file() and '"phase": "load"' in events.read_text() and RunFolder(run).is_running():
            found.append(run)
    return found


def start(file: Path, log: Path, *words: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return myself().popen("sweep", str(file), *words, stdout=output, stderr=output, process_group=0)


def wait_for_runs(process: subprocess.Popen[bytes], log: Path, path: Path, count: int) -> list[Path]:
    def find() -> list[Path]:
        assert process.poll() is None, log.read_text()
        found = going(path)
        return found if len(found) >= count else []

    return wait_until(find, timeout_s=LONG_S, reason=f"{count} runs at once", every_s=0.1)


def find_point_servers(parent: int) -> list[int]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            is_child = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1] == str(parent)
            if is_child and b"stream2gym.point_server" in Path("/proc", pid, "cmdline").read_bytes():
                found.append(int(pid))
    return found


def test_two_at_once_are_interrupted_killed_retried_and_run_to_the_end(file: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    before = snapshot()
    first = start(file, log, "--jobs", "2", "--keep", "summaries", "--out", str(out))
    wait_for_runs(first, log, out, 2)
    os.killpg(first.pid, signal.SIGINT)
    assert first.wait(120) == 130, log.read_text()
    assert "runs at once share" in log.read_text()
    assert attempts(out) == []
    assert left_behind(before) == {}

    second = start(file, log, "--jobs", "2", "--keep", "summaries", "--resume", str(out), "--retry")
    wait_for_runs(second, log, out, 2)
    os.kill(find_point_servers(second.pid)[0], signal.SIGKILL)
    # Unknown where the machine could not keep up, which two runs at once make likely; a failure would be wrong.
    assert second.wait(LONG_S) in (0, 3), log.read_text()
    [killed] = [one for one in attempts(out) if one["result"]["state"] == "failed"]
    assert "the process of this run ended by itself" in killed["result"]["error"]
    # Runs that the other one left in doubt are tried again, too.
    assert f"{killed['run']}-retry" in [one["folder"] for one in attempts(out)]
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["counts"] == {"pass": 3}, log.read_text()
    assert "once more that did not go through or are in doubt" in log.read_text()
    for one in attempts(out):
        if one["result"]["state"] == "done":
            folder = out / "points" / one["folder"]
            assert RunFolder.open(folder).state == "done"
            assert not (folder / "data").exists()
            assert subprocess.run(
                [sys.executable, "-m", "stream2gym", "report", str(folder)], timeout=LONG_S, check=False
            ).returncode == 0  # fmt: skip
    assert left_behind(before) == {}


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[str], Path]]:
    """A disk of its own: the prefix of commands that see it at ``tmp_path/disk``, and where others see it."""
    # The JVM that analyses share does not see this disk.
    monkeypatch.delenv(VARIABLE, raising=False)
    if os.geteuid() != 0 or shutil.which("nsenter") is None:
        pytest.skip("needs root and nsenter")
    place = tmp_path / "disk"
    place.mkdir()
    words = f"mount -t tmpfs -o size=300m none {place} && echo ready && exec sleep 3600"
    log = tmp_path / "disk.log"
    holder = child_process.start(["unshare", "-m", "sh", "-c", words], log, tmp_path)
    try:
        wait_until(lambda: "ready" in log.read_text(), timeout_s=30, reason="a disk")
        yield ["nsenter", "-t", str(holder.pid), "-m", "--"], Path(f"/proc/{holder.pid}/root{place}")
    finally:
        child_process.end(holder)


def test_a_disk_that_fills_stops_the_sweep_and_it_can_be_resumed(
    file: Path, tmp_path: Path, small_disk: tuple[list[str], Path]
) -> None:
    enter, disk = small_disk
    command = [*enter, sys.executable, "-m", "stream2gym", "sweep", str(file)]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--out", str(tmp_path / "disk" / "out")], stdout=output, stderr=output, cwd=tmp_path
        )
    wait_for_runs(process, log, disk / "out", 1)
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(1024 * 1024))
    assert process.wait(LONG_S) == 3, log.read_text()
    assert "MiB are free" in log.read_text()
    assert "--resume" in log.read_text()
    assert "Traceback" not in log.read_text()
    # The run that was going on has its room for the record already, and may go through; no other begins.
    assert len(attempts(disk / "out")) <= 1
    assert json.loads((disk / "out" / "sweep.json").read_text())["state"] in ("stopped", "running")

    (disk / "filler").unlink()
    resumed = subprocess.run(
        [*command, "--resume", str(tmp_path / "disk" / "out")],
        capture_output=True, text=True, timeout=LONG_S, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert resumed.returncode in (0, 3), resumed.stderr
    assert json.loads((disk / "out" / "verdict.json").read_text())["counts"] == {"pass": 3}, resumed.stderr
