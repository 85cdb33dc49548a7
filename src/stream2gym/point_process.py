"""A process of ours that is asked in JSON, with one object on each line, and answers in JSON.

It runs points of a sweep (``point_server``), or checks what a machine can (``sweep_cluster.worker_check``). With a
``folder`` it runs under a guard (``software/process_guard``), which makes the folder, kills the process when we end,
and removes the folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

from stream2gym.closing import ClosedOnExit
from stream2gym.own_python import own_python
from stream2gym.software.child_process import guarded
from stream2gym.sweeps.point import PointJob, PointResult
from stream2gym.wait import wait_until

POINT_SERVER = "stream2gym.point_server"
# Asks a process that runs a point to end the run in order.
STOP = {"stop": True}

# What an idle process may take to end when its input ends, and a guard to kill one and to remove its folder.
END_S = 15.0
FOLDER_S = 30.0
_MOST_SAID = 1000


class JsonProcess(ClosedOnExit):
    """Handle of the process ``python -m WORDS``. ``log`` gets what it prints besides its answers."""

    def __init__(
        self, *words: str, log: BinaryIO, env: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> None:
        self._log = log
        self._life = -1
        command = own_python("-m", *words)
        if folder is None:
            self._process = self._start(command, env)
            return
        with guarded(folder) as (prefix, life, self._life):
            self._process = self._start([*prefix, *command], env, life)
        wait_until(lambda: folder.is_dir() or not self.is_alive(), timeout_s=FOLDER_S, reason=f"the folder {folder}")

    def _start(self, command: list[str], env: Mapping[str, str] | None, *passed: int) -> subprocess.Popen[bytes]:
        # In a process group of its own: Ctrl-C reaches this process alone, which then asks the others to stop.
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=env,
            pass_fds=passed,
            process_group=0,
        )

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any] | None:
        """Send a question and wait for the answer. None: the process ended without one."""
        try:
            self._write(question)
            line = _stream(self._process.stdout).readline()
        except OSError:
            return None
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message that has no answer. A process that has ended is told nothing."""
        with contextlib.suppress(OSError, ValueError):
            self._write(message)

    def describe_end(self) -> str:
        """How a process ended that gave no answer: its exit code and the last of what it printed."""
        code = self._process.wait()
        size = os.fstat(self._log.fileno()).st_size
        with open(f"/proc/self/fd/{self._log.fileno()}", "rb") as file:
            file.seek(max(0, size - _MOST_SAID))
            said = file.read().decode("utf-8", "replace").strip()
        return f"ended by itself (exit code {code}): {said or 'it said nothing'}"

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process. It is idle, or everything is to end at once."""
        with contextlib.suppress(OSError):
            _stream(self._process.stdin).close()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _stream(self._process.stdout).close()

    def _write(self, message: Mapping[str, Any]) -> None:
        stream = _stream(self._process.stdin)
        stream.write(json.dumps(message, default=str).encode() + b"\n")
        stream.flush()


def ask_for_run(process: JsonProcess, job: PointJob) -> PointResult:
    """Have a process of ``point_server`` run a point, and wait for its result."""
    began = time.monotonic()
    answer = process.ask({"job": job.to_json()})
    if answer is None:
        why = f"the process of this run {process.describe_end()}"
        return PointResult("failed", error=why, took_s=time.monotonic() - began)
    return PointResult.from_json(answer)


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "the process is started with pipes"
    return stream
