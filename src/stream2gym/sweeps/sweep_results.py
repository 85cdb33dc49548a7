"""What came of a sweep: judged, written into its folder, and read back from it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.judge.judged_result import JudgedResult
from stream2gym.sweeps.published_values import PublishedTable
from stream2gym.sweeps.response_table import ResponseRow, make_arrow_table, write_table
from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.sweeps.sweep_folder import SweepFolder
from stream2gym.sweeps.sweep_report import write_sweep_report
from stream2gym.sweeps.sweep_verdict import SweepVerdict, judge_sweep

VERDICT_FILE = "verdict.json"


@dataclass(frozen=True)
class SweepResult(JudgedResult):
    """A sweep as far as it ran, judged."""

    folder: SweepFolder
    file: SweepFile
    # done, interrupted or stopped (the disk was nearly full)
    state: str
    rows: tuple[ResponseRow, ...]
    judged: SweepVerdict
    # Why some runs did not begin; empty if all ran.
    stopped: str = ""
    published: PublishedTable = field(default_factory=PublishedTable)

    @property
    def repeats(self) -> int:
        """How often every point was to run."""
        return self.folder.read_plan().repeats

    @property
    def table(self) -> Any:
        """The table of responses as a pyarrow table: a row for each run and response."""
        return make_arrow_table(self.rows, list(self.file.axes))

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    def to_json(self) -> dict[str, Any]:
        return {
            "sweep": self.path.name,
            "path": str(self.path),
            "state": self.state,
            "stopped": self.stopped,
            "summary": self.summary,
            "report": str(self.report),
            "exit_code": self.exit_code,
            **self.judged.to_json(),
        }


def finish_sweep(folder: SweepFolder, file: SweepFile, state: str, stopped: str = "", **changes: Any) -> SweepResult:
    """Judge what is there and write table, verdict, figures and report. A full disk does not hide the verdict.

    ``changes`` are written into sweep.json.
    """
    judged = judge_sweep(file, folder.read_plan(), folder.find_ended(), _read_published(folder))
    with contextlib.suppress(OSError):
        folder.update(state=state, stopped=stopped, **changes)
        write_table(folder.path, judged.rows, list(file.axes))
        folder.write_json(VERDICT_FILE, judged.verdict.to_json() | {"exit_code": judged.verdict.exit_code})
        write_sweep_report(folder, judged)
    return SweepResult(folder, file, state, tuple(judged.rows), judged.verdict, stopped, judged.published)


def load_results(folder: SweepFolder) -> SweepResult:
    """Read and judge what a sweep has recorded. Nothing is written."""
    info = folder.info
    try:
        file = SweepFile.model_validate(info["file"])
        published = _read_published(folder)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadInput(Mistake(str(folder.path), "its sweep.json cannot be read", str(error))) from error
    judged = judge_sweep(file, folder.read_plan(), folder.find_ended(), published)
    stopped = str(info.get("stopped") or "")
    state = str(info["state"])
    return SweepResult(folder, file, state, tuple(judged.rows), judged.verdict, stopped, judged.published)


def load_with_file(folder: SweepFolder, present: SweepFile, table: PublishedTable) -> SweepResult | None:
    """Judge what a sweep has recorded by the present shapes and lines of agreement of its file. Nothing is written.

    None: the file measures something else now.
    """
    before = load_results(folder)
    if _describe_measured(before.file) != _describe_measured(present):
        return None
    judged = judge_sweep(present, folder.read_plan(), folder.find_ended(), table)
    return replace(before, file=present, rows=tuple(judged.rows), judged=judged.verdict, published=judged.published)


def _describe_measured(file: SweepFile) -> dict[str, Any]:
    """What decides at which points a sweep runs and what it measures there."""
    dumped = dump_file(file)
    for name in ("expect", "agreement", "published", "interval", "repeats", "figures"):
        dumped.pop(name, None)
    return dumped


def _read_published(folder: SweepFolder) -> PublishedTable:
    """The published values as they were when the sweep began."""
    return PublishedTable.from_json(folder.info.get("published") or {})


def dump_file(file: SweepFile) -> dict[str, Any]:
    """The sweep file as sweep.json keeps it."""
    dumped: dict[str, Any] = json.loads(json.dumps(file.model_dump(by_alias=True, exclude_none=True), default=str))
    return dumped
