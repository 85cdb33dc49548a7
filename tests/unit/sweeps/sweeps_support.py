"""Sweeps in tests: files as text, a runner that measures what a formula says, rows made by hand."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput
from stream2gym.execution.view import View
from stream2gym.sweeps.load_sweep import LoadedSweep, load_sweep
from stream2gym.sweeps.point import MeasuredResponse, PointJob, PointResult
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.units import Duration

DELAY = "topology.links.h2 -- s1.latency"
FILE = f"""
    sweep: 1
    name: delays
    experiment: hello
    axes:
      delay: {{set: "{DELAY}", values: [10 ms, 20 ms, 30 ms]}}
    responses: [latency.mean]
    expect:
      - latency.mean over delay: increasing
"""


def write(folder: Path, text: str = FILE, name: str = "delays.yaml") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text), "utf-8")
    return path


def load(folder: Path, text: str = FILE) -> LoadedSweep:
    return load_sweep(write(folder, text))


def mistakes(folder: Path, text: str) -> list[str]:
    try:
        load(folder, text)
    except BadInput as error:
        return [str(mistake).removeprefix(str(folder / "delays.yaml")) for mistake in error.mistakes]
    return []


def twice_the_delay(job: PointJob) -> PointResult:
    """A run in which every message takes twice the delay of the link."""
    value = 2 * float(Duration.parse(job.overrides[DELAY]))
    measured = tuple(MeasuredResponse(one.name, "", value, value, value) for one in job.responses)
    return PointResult("done", "pass", "pass: 3 of 3 expectations held", measured, took_s=1.0, kept_up=True)


@dataclass
class FormulaRunner:
    """A runner without a network: the result of a run is what a function says. It leaves a run folder as runs do."""

    formula: Callable[[PointJob], PointResult] = twice_the_delay
    jobs: list[PointJob] = field(default_factory=list)

    def run(self, job: PointJob, view: View) -> PointResult:
        self.jobs.append(job)
        folder = Path(job.folder)
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "sent.parquet").write_bytes(b"x" * 1000)
        (folder / "run.json").write_text(json.dumps({"format": 1, "state": "done"}), "utf-8")
        return self.formula(job)

    def __call__(self, _experiment: object, _interrupts: object) -> FormulaRunner:
        """Stands in the place of the class that runs real points."""
        return self

    def __enter__(self) -> FormulaRunner:
        return self

    def __exit__(self, *_what: object) -> None: ...

    def stop(self) -> None: ...

    @property
    def names(self) -> list[str]:
        return [job.name for job in self.jobs]


def row(x: Any, value: float | None, low: float | None = None, high: float | None = None, **more: Any) -> ResponseRow:
    """A row of the response ``y`` over the axis ``x``; without bounds its value is exact."""
    fields: dict[str, Any] = {
        "point": 1, "repeat": 1, "seed": 1, "axes": {"x": x}, "response": "y", "item": "", "value": value,
        "low": value if low is None else low, "high": value if high is None else high, "state": "measured",
        "verdict": "pass", "reason": "", "run": "points/p0001-r1",
    }  # fmt: skip
    if value is None:
        fields["state"] = "unknown"
    return ResponseRow(**(fields | more))
