"""What the phases of a run work with: the planned run, its folder, the recorder, the waiter, the stack of undos."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stream2gym.errors import S2gError
from stream2gym.execution.run_recorder import RunRecorder
from stream2gym.execution.view import View
from stream2gym.execution.waiter import Waiter
from stream2gym.interrupts import Interrupts
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Experiment


@dataclass(frozen=True)
class PlannedRun:
    """An experiment with its plan: what a run will do, decided before anything starts."""

    experiment: Experiment
    plan: Plan
    # Relative paths of the experiment are resolved against this folder.
    base: Path
    # When the command or the call that asks for the run began, on the monotonic clock.
    began_ns: int
    capture_all: bool = False

    def captured_links(self) -> list[str]:
        """The links whose packets are written to files."""
        return [link.name for link in self.plan.network.links] if self.capture_all else self.experiment.capture


@dataclass
class Outcome:
    """How a run ended, before it is judged."""

    # done, failed or interrupted
    state: str = "done"
    error: S2gError | None = None
    # Number of rows of each table of the record.
    rows: dict[str, int] = field(default_factory=dict)
    # What the clients reported that they did: sent, acked, failed, received.
    counts: dict[str, int] = field(default_factory=dict)


class RunControl:
    """One for each run. What a phase starts, it registers in ``undo`` first; the undos run last to first."""

    def __init__(self, planned: PlannedRun, folder: RunFolder, view: View, interrupts: Interrupts) -> None:
        self.planned = planned
        self.folder = folder
        self.recorder = RunRecorder(folder, view)
        self.waiter = Waiter(interrupts)
        self.undo = contextlib.ExitStack()
        self.undo.callback(self.recorder.close)

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step of the stop. Its failure becomes an event, and the steps after it are still taken."""
        try:
            step()
        except (S2gError, OSError) as error:
            self.recorder.tell("stop-failed", reason=str(error))
