"""One run of a sweep: what it is to do (``PointJob``), what came of it (``PointResult``), and who does it.

A ``PointRunner`` runs one point wherever it likes: in this process, in another one, on another machine. What goes in
and what comes out is plain data that survives JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from stream2gym.errors import S2gError
from stream2gym.execution.view import View
from stream2gym.jsonable import Jsonable
from stream2gym.judge.verdict import Outcome

Keep = Literal["all", "summaries"]
# done: the run went through; failed: it did not, or could not start; interrupted: somebody stopped it
RunState = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True)
class WantedResponse(Jsonable):
    """A response that is measured in a run. ``combine`` and ``about`` are explained in the sweep file.

    ``scale`` is what a stated number is multiplied with to be in the base unit, ``unit`` is what figures call that.
    """

    name: str
    metric: str
    combine: str = "each"
    scale: float = 1.0
    unit: str = ""
    about: str = "system"


@dataclass(frozen=True)
class PointJob(Jsonable):
    """One run of one point. ``folder`` becomes an ordinary run folder."""

    name: str
    overrides: dict[str, Any]
    seed: int
    folder: str
    responses: tuple[WantedResponse, ...] = ()
    keep: Keep = "all"


@dataclass(frozen=True)
class MeasuredResponse(Jsonable):
    """A response as one run measured it, in the base unit of its metric. The truth lies between low and high.

    ``item`` names what the value belongs to, such as a link, if the metric has several values. Without a value
    ``reason`` says why.
    """

    response: str
    item: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    # As figures call it.
    unit: str = ""


@dataclass(frozen=True)
class PointResult(Jsonable):
    """What came of one run of a point."""

    state: str
    verdict: Outcome = "unknown"
    summary: str = ""
    measured: tuple[MeasuredResponse, ...] = ()
    error: str = ""
    took_s: float = 0.0
    # Of the run: how long its load lasted.
    load_s: float = 0.0
    # Whether the emulation kept up; None: nobody can say.
    kept_up: bool | None = None
    # Whether this machine, and not the experiment, is the reason of the error.
    cannot_here: bool = False
    warnings: tuple[str, ...] = field(default=())
    # Whether the run was lost with the worker that it ran on: it runs again when the sweep is resumed.
    is_lost: bool = False
    # The machine that it ran on, if it is a worker of a cluster.
    worker: str = ""


class NoRunnerLeft(S2gError):
    """Nothing is left that could run a point: the sweep ends, and can be resumed."""


class PointRunner(Protocol):
    """Runs points. ``run`` may be called from several threads if several jobs were asked for."""

    def run(self, job: PointJob, view: View) -> PointResult:
        """Run one point to its end and return what came of it. What goes wrong in the run is in the result.

        NoRunnerLeft ends the sweep.
        """
