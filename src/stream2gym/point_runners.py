"""Runs the points of a sweep: in this process with one Spark session for all of them, or in several processes.

``RunnerHere`` runs one point after the other. ``RunnerInProcesses`` has a process for each point that runs at the
same time (``python -m stream2gym.point_worker``), each of them with a ``RunnerHere``.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.api import Result, perform, prepare
from stream2gym.errors import CannotHere, Interrupted, S2gError
from stream2gym.execution.view import View
from stream2gym.interrupts import Interrupts
from stream2gym.own_python import own_python
from stream2gym.spec.model import Experiment
from stream2gym.sweeps.measure_responses import measure_responses
from stream2gym.sweeps.point import PointJob, PointResult

END_S = 15.0  # what an idle worker may take to end


class RunnerHere:
    """Runs points in this process, one at a time. The Spark session opens with the first analysis and stays open."""

    def __init__(self, experiment: Experiment | str, interrupts: Interrupts) -> None:
        self._experiment = experiment
        self._interrupts = interrupts
        self._session = BackgroundSession()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._session.close()

    def stop(self) -> None:
        """Ask the run that is going on to end. It sees the interrupt of this process by itself."""

    def run(self, job: PointJob, view: View) -> PointResult:
        """Run one point. What goes wrong is in the result; an interrupted run says so."""
        began = time.monotonic()
        try:
            planned, loaded = prepare(self._experiment, overrides=job.overrides, seed=job.seed)
            done = perform(
                planned,
                loaded,
                out=Path(job.folder),
                report=job.keep == "all",
                view=view,
                interrupts=self._interrupts,
                session=self._session,
            )
        except KeyboardInterrupt:
            return PointResult("interrupted", took_s=time.monotonic() - began)
        except Interrupted as error:
            return PointResult("interrupted", error=str(error), took_s=time.monotonic() - began)
        except S2gError as error:
            cannot = isinstance(error, CannotHere)
            return PointResult("failed", error=str(error), cannot_here=cannot, took_s=time.monotonic() - began)
        if done.analysis is None:
            # A session whose JVM died must not spoil the points after this one.
            self._session.close()
            self._session = BackgroundSession()
        return summarise(done, job, time.monotonic() - began)


def summarise(done: Result, job: PointJob, took_s: float) -> PointResult:
    """What came of a run, with its responses. A run without an analysis did not go through."""
    state = done.state
    error = "" if done.error is None else str(done.error)
    if done.analysis is None:
        state = "interrupted" if state == "interrupted" else "failed"
        return PointResult(state, done.judged.outcome, done.summary, error=error or done.summary, took_s=took_s)
    return PointResult(
        state=state,
        verdict=done.judged.outcome,
        summary=done.summary,
        measured=measure_responses(job.responses, done.analysis, done.folder.read_events()),
        error=error,
        took_s=took_s,
        load_s=done.analysis.load_s,
        kept_up=done.analysis.fidelity.good,
        warnings=done.judged.warnings,
    )


class Worker:
    """A process that runs points, one at a time. It ends when its input does."""

    def __init__(self, experiment: str, log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            # In a process group of its own: Ctrl-C reaches this process alone, which then asks the workers to stop.
            self._process = subprocess.Popen(
                own_python("-m", "stream2gym.point_worker", experiment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,
            )

    def run(self, job: PointJob) -> PointResult:
        """Have a point run, and wait for its result."""
        began = time.monotonic()
        try:
            self._write({"job": job.to_json()})
            line = _stream(self._process.stdout).readline()
        except OSError:
            line = b""
        if line:
            return PointResult.from_json(json.loads(line))
        code = self._process.wait()
        said = self._log.read_text("utf-8", "replace")[-1000:].strip()
        why = f"the process of this run ended by itself (exit code {code}): {said or 'it said nothing'}"
        return PointResult("failed", error=why, took_s=time.monotonic() - began)

    def stop(self) -> None:
        """Ask the point that is running to end in order."""
        with contextlib.suppress(OSError, ValueError):
            self._write({"stop": True})

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process. It is idle, or everything is to end at once."""
        with contextlib.suppress(OSError):
            _stream(self._process.stdin).close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _stream(self._process.stdout).close()

    def _write(self, message: dict[str, object]) -> None:
        stream = _stream(self._process.stdin)
        stream.write(json.dumps(message).encode() + b"\n")
        stream.flush()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "a worker is started with pipes"
    return stream


class RunnerInProcesses:
    """Runs several points at once, each in a process of its own. A process that died is replaced."""

    def __init__(self, experiment: str, jobs: int, folder: Path) -> None:
        self._experiment = experiment
        self._log = folder / "workers.log"
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._workers = [Worker(experiment, self._log) for _ in range(jobs)]
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.close()

    def stop(self) -> None:
        """Ask the runs that are going on to end."""
        for worker in self._workers:
            worker.stop()

    def run(self, job: PointJob, view: View) -> PointResult:
        """Run one point in an idle process. The view is not told what happens in it."""
        worker = self._idle.get()
        try:
            return worker.run(job)
        finally:
            if not worker.is_alive():
                self._workers.remove(worker)
                worker.close()
                worker = Worker(self._experiment, self._log)
                self._workers.append(worker)
            self._idle.put(worker)
