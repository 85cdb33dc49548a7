"""Runs the points of a sweep in their order, one or several at a time, and records each as soon as it ended.

A run that fails is recorded and never stops the rest. After an interrupt, and when the disk is nearly full, the runs
that are going on end, no other begins, and the sweep can be resumed.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from stream2gym.errors import CannotHere, S2gError
from stream2gym.execution.view import SilentView, View
from stream2gym.sweeps.axis_values import FIGURE_UNITS
from stream2gym.sweeps.point import Keep, NoRunnerLeft, PointJob, PointResult, PointRunner, WantedResponse
from stream2gym.sweeps.response_table import judge_value
from stream2gym.sweeps.sweep_folder import RETRY, Attempt, SweepFolder, pick_attempt, thin_run_folder
from stream2gym.sweeps.sweep_plan import PlannedPointRun, SweepPlan

MIB = 1024 * 1024
# A run begins only if this much of the disk is free, or twice what the largest run so far took.
LEAST_FREE = 200 * MIB
_WAIT_S = 0.2


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is; while some runs are done once more, how far these are.

    ``left_s`` is None until a run of this call has ended. ``all_left_s`` is with the sweeps that come after this one.
    """

    ended: int
    total: int
    failed: int
    left_s: float | None = None
    all_left_s: float | None = None


class SweepView(Protocol):
    """Shows a sweep while it goes on. Several threads may call it."""

    def started(self, run: PlannedPointRun, progress: SweepProgress) -> View:
        """A run begins. Returns the view of the run."""

    def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None:
        """A run ended."""

    def note(self, text: str) -> None:
        """A sentence for people."""


class SilentSweepView:
    """A view that shows nothing."""

    def started(self, run: PlannedPointRun, progress: SweepProgress) -> View:
        return SilentView()

    def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class LoopEnd:
    """How the runs of a sweep ended. ``reason`` says why some did not begin."""

    state: Literal["done", "interrupted", "stopped"]
    reason: str = ""


@dataclass
class PointLoop:
    """One call of ``run`` runs all that is left of a sweep."""

    folder: SweepFolder
    plan: SweepPlan
    runner: PointRunner
    responses: Sequence[WantedResponse]
    view: SweepView = field(default_factory=SilentSweepView)
    is_interrupted: Callable[[], bool] = lambda: False
    keep: Keep = "all"
    jobs: int = 1
    is_retrying: bool = False
    # The largest distance of the bounds of a value that is not in doubt, as a share of the value.
    widest: float = math.inf
    find_free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._ended: dict[str, Attempt] = {}
        # Folders of which earlier calls recorded a result.
        self._recorded: set[str] = set()
        self._retried: set[str] = set()
        # Of the runs that are being done now: first all, then those that run once more.
        self._total = self._left = 0
        self._durations: list[float] = []
        # When the runs that are going on began.
        self._began: dict[str, float] = {}
        self._largest_bytes = 0
        self._stop_reason = ""
        self._obstacle: PointResult | None = None

    def run(self) -> LoopEnd:
        """Run what is left. Raises CannotHere if this machine refused the first run."""
        # A run that was lost with its worker is left to run.
        self._ended = {name: one for name, one in self.folder.find_ended().items() if not one.result.is_lost}
        self._recorded = {one.folder for one in self.folder.read_attempts()}
        try:
            self.folder.end_partial_line()
        except OSError as error:
            self._stop_if_full(error, "the result of an earlier run could not be closed")
        self._run_all(deque(run for run in self.plan.runs if run.name not in self._ended), is_retry=False)
        if self.is_retrying and not self._must_stop():
            self._retried = {one.run for one in self.folder.read_attempts() if one.folder.endswith(RETRY)}
            again = [run for run in self.plan.runs if self._is_worth_retrying(run)]
            if again:
                self.view.note(f"running {len(again)} once more that did not go through or are in doubt")
                self._run_all(deque(again), is_retry=True)
        if self._obstacle is not None:
            with suppress(OSError):
                self.folder.update(state="stopped", stopped=self._obstacle.error)
            raise CannotHere(self._obstacle.error, "s2g doctor shows what this machine allows")
        if self.is_interrupted():
            return LoopEnd("interrupted", "interrupted; --resume continues")
        return LoopEnd("stopped", self._stop_reason) if self._stop_reason else LoopEnd("done")

    def _is_worth_retrying(self, run: PlannedPointRun) -> bool:
        attempt = self._ended.get(run.name)
        if attempt is None or run.name in self._retried:
            return False
        in_doubt = any(judge_value(one, self.widest) == "wide" for one in attempt.result.measured)
        return attempt.result.state == "failed" or in_doubt

    def _run_all(self, waiting: deque[PlannedPointRun], *, is_retry: bool) -> None:
        self._total = len(waiting) if is_retry else len(self.plan.runs)
        self._left = len(waiting)
        if self.jobs == 1:
            while waiting and not self._must_stop():
                self._run_one(waiting.popleft(), is_retry=is_retry)
            return
        going: set[Future[None]] = set()
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="s2g-point") as pool:
            while going or (waiting and not self._must_stop()):
                while waiting and len(going) < self.jobs and not self._must_stop():
                    going.add(pool.submit(self._run_one, waiting.popleft(), is_retry=is_retry))
                over, going = wait(going, _WAIT_S, FIRST_COMPLETED)
                for one in over:
                    one.result()

    def _must_stop(self) -> bool:
        if self.is_interrupted() or self._stop_reason or self._obstacle is not None:
            return True
        needed = self._needed_bytes()
        free = self.find_free_bytes(self.folder.path)
        if free < needed:
            self._stop("the disk is nearly full", free, needed)
            return True
        return False

    def _needed_bytes(self) -> int:
        return max(LEAST_FREE, 2 * self._largest_bytes) * self.jobs

    def _stop(self, what: str, free: int, needed: int) -> None:
        self._stop_reason = (
            f"{what}: {free / MIB:,.0f} MiB are free and {needed / MIB:,.0f} MiB are needed; "
            "make room, or keep less (--keep summaries), and --resume"
        )

    def _stop_if_full(self, error: OSError, what: str) -> None:
        """Stop because of a disk that is full; any other error is raised again."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise error
        self._stop(f"{what}, the disk is full", 0, self._needed_bytes())

    def _run_one(self, run: PlannedPointRun, *, is_retry: bool) -> None:
        try:
            with self._lock:
                path = self._prepare(run, is_retry=is_retry)
        except OSError as error:
            self._stop_if_full(error, f"{run.name} could not begin")
            return
        job = PointJob(run.name, run.overrides, run.seed, str(path), tuple(self.responses), self.keep)
        began = self.clock()
        with self._lock:
            self._began[run.name] = began
            progress = self._progress(began)
        result = self._perform(job, self.view.started(run, progress))
        with self._lock:
            now = self.clock()
            self._durations.append(now - began)
            del self._began[run.name]
            self._left -= result.state != "interrupted"
            self._record(run, path, result)
            progress = self._progress(now)
        self.view.ended(run, result, progress)

    def _prepare(self, run: PlannedPointRun, *, is_retry: bool) -> Path:
        """The folder for a run. An earlier result of it is withdrawn, because its folder becomes that of this run."""
        path = self.folder.find_point(run, is_retry=is_retry)
        if path.name in self._recorded:
            self.folder.add_attempt(Attempt(run.name, path.name, PointResult("interrupted", error="it runs again")))
            self._recorded.discard(path.name)
        return self.folder.prepare_point(run, is_retry=is_retry)

    def _perform(self, job: PointJob, view: View) -> PointResult:
        try:
            return self.runner.run(job, view)
        except NoRunnerLeft as error:
            self._stop_reason = str(error)
            return PointResult("interrupted", error=str(error))
        except S2gError as error:
            return PointResult("failed", error=str(error), cannot_here=isinstance(error, CannotHere))
        except Exception as error:  # one run never stops the rest
            return PointResult("failed", error=f"{type(error).__name__}: {error}")

    def _record(self, run: PlannedPointRun, path: Path, result: PointResult) -> None:
        """Record what came of a run, unless it did not really run: then it runs again when the sweep is resumed."""
        if result.state == "interrupted":
            return
        self._largest_bytes = max(self._largest_bytes, measure_bytes(path))
        if result.state == "failed":
            if result.cannot_here and not any(one.result.state == "done" for one in self._ended.values()):
                self._obstacle = result
                return
            free = self.find_free_bytes(self.folder.path)
            if free < LEAST_FREE:
                self._stop(f"{run.name} failed on a full disk", free, self._needed_bytes())
                return
        attempt = Attempt(run.name, path.name, result)
        try:
            self.folder.add_attempt(attempt)
        except OSError as error:
            self._stop_if_full(error, f"{run.name} could not be recorded")
            return
        self._ended[run.name] = pick_attempt(self._ended.get(run.name), attempt)
        thin_run_folder(path, self.keep, result)

    def _progress(self, now: float) -> SweepProgress:
        failed = sum(one.result.state == "failed" for one in self._ended.values())
        left_s = None
        if self._durations:
            usual = sum(self._durations) / len(self._durations)
            done = sum(min(usual, now - began) for began in self._began.values())
            left_s = max(0.0, usual * self._left - done) / self.jobs
        return SweepProgress(self._total - self._left, self._total, failed, left_s)


def measure_bytes(path: Path) -> int:
    """The size of all files below a folder."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total


def describe_left(seconds: float | None) -> str:
    """The time that is left, for people: ``3 min 20 s``."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def as_wanted(responses: Sequence[Any]) -> tuple[WantedResponse, ...]:
    """The responses of a sweep file as runs take them."""
    return tuple(
        WantedResponse(one.label, one.metric, one.combine, one.scale, FIGURE_UNITS.get(one.quantity, ""), one.about)
        for one in responses
    )
