"""Runs the points of a sweep: in this process with one Spark session for all of them, or in several processes.

``RunnerHere`` runs one point after the other. ``RunnerInProcesses`` has a process for each point that runs at the
same time (``python -m stream2gym.point_server``), each of them with a ``RunnerHere``. Points on the workers of a
Spark cluster are run by ``sweep_cluster.cluster_runner``.
"""

from __future__ import annotations

import queue
import time
from dataclasses import replace
from pathlib import Path

from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.api import Result, perform, prepare
from stream2gym.closing import ClosedOnExit
from stream2gym.errors import CannotHere, Interrupted, S2gError
from stream2gym.execution.view import View
from stream2gym.interrupts import Interrupts
from stream2gym.point_process import POINT_SERVER, STOP, JsonProcess, ask_for_run
from stream2gym.spec.model import Experiment
from stream2gym.sweeps.measure_responses import measure_responses
from stream2gym.sweeps.point import PointJob, PointResult


class RunnerHere(ClosedOnExit):
    """Runs points in this process, one at a time. The Spark session opens with the first analysis and stays open."""

    def __init__(self, experiment: Experiment | str, interrupts: Interrupts) -> None:
        self._experiment = experiment
        self._interrupts = interrupts
        self._session = BackgroundSession()

    def close(self) -> None:
        """End the Spark session."""
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


class RunnerInProcesses(ClosedOnExit):
    """Runs several points at once, each in a process of its own. A process that died is replaced."""

    def __init__(self, experiment: str, jobs: int, folder: Path) -> None:
        self._experiment = experiment
        self._is_stopping = False
        self._log = (folder / "processes.log").open("ab")
        self._idle: queue.SimpleQueue[JsonProcess] = queue.SimpleQueue()
        self._servers = [self._start() for _ in range(jobs)]
        for server in self._servers:
            self._idle.put(server)

    def _start(self) -> JsonProcess:
        return JsonProcess(POINT_SERVER, self._experiment, log=self._log)

    def close(self) -> None:
        """End the processes."""
        for server in self._servers:
            server.close()
        self._log.close()

    def stop(self) -> None:
        """Ask the runs that are going on to end."""
        self._is_stopping = True
        for server in self._servers:
            server.tell(STOP)

    def run(self, job: PointJob, view: View) -> PointResult:
        """Run one point in an idle process. The view is not told what happens in it."""
        server = self._idle.get()
        try:
            result = ask_for_run(server, job)
            if self._is_stopping and result.state == "failed":
                # Whatever it failed of, it was being stopped.
                return replace(result, state="interrupted")
            return result
        finally:
            if not server.is_alive() and not self._is_stopping:
                self._servers.remove(server)
                server.close()
                server = self._start()
                self._servers.append(server)
            self._idle.put(server)
