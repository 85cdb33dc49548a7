"""Finds the previous run of the same experiment: the newest earlier run beside a run whose experiment is the same to
the letter, and which ended and was analysed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import Event
from stream2gym.errors import BadInput
from stream2gym.record.folder import RunFolder

# Runs that are looked at; the folder of a long series of runs holds hundreds.
_MOST_LOOKED_AT = 200


@dataclass(frozen=True)
class PreviousRun:
    """What a comparison needs of an earlier run."""

    name: str
    analysis: Analysis
    events: list[Event]


def find_previous_run(path: Path) -> PreviousRun | None:
    """The previous run of the same experiment. None: there is none, or it cannot be read."""
    path = path.resolve()
    try:
        experiment = (path / "experiment.yaml").read_bytes()
        created = _read_created(path)
        others = [one for one in path.parent.iterdir() if one != path and (one / "analysis.json").is_file()]
    except (OSError, ValueError, KeyError):
        return None
    newest_first = sorted(others, key=lambda one: (one / "analysis.json").stat().st_mtime, reverse=True)
    earlier: list[tuple[str, Path]] = []
    for other in newest_first[:_MOST_LOOKED_AT]:
        try:
            when = _read_created(other)
            if when < created and (other / "experiment.yaml").read_bytes() == experiment:
                earlier.append((when, other))
        except (OSError, ValueError, KeyError):
            continue
    readable = (_read_run(other) for _, other in sorted(earlier, reverse=True))
    return next((run for run in readable if run is not None), None)


def _read_created(path: Path) -> str:
    info = json.loads((path / "run.json").read_text("utf-8"))
    return str(info["created"])


def _read_run(path: Path) -> PreviousRun | None:
    try:
        folder = RunFolder.open(path)
        if folder.state != "done":
            return None
        analysis = Analysis.from_json(json.loads((path / "analysis.json").read_text("utf-8")))
        return PreviousRun(path.name, analysis, list(folder.read_events()))
    except (OSError, ValueError, KeyError, TypeError, BadInput):
        return None
