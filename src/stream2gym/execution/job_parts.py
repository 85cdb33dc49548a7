"""What joins a run that goes on: parts of an experiment file, checked together with the experiment of the run. Pure.

Paths in a part count from the folder of its file. In the experiment of the run they count from its own folder, so
they are written anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.checks.experiment_checks import find_problems
from stream2gym.spec.findings import DataPath, Finding, Origins
from stream2gym.spec.model import Consumer, Engine, Experiment, Producer
from stream2gym.spec.validation_messages import findings_of

# The sections of an experiment whose parts can join a run.
SECTIONS = ("engines", "consumers", "producers")
Part = Engine | Consumer | Producer
_FILES = ("app", "file")


@dataclass(frozen=True)
class Joined:
    """The experiment of a run with further parts, and these parts, in the order in which they start."""

    experiment: Experiment
    parts: tuple[Part, ...]


def join_parts(
    experiment: Experiment, said: Mapping[str, Sequence[Mapping[str, Any]]], *, base: Path, folder: Path
) -> Joined:
    """Add parts to an experiment. BadInput lists every mistake in them.

    ``said`` has the parts as a file says them, by section. ``folder`` is the folder of that file, ``base`` that of
    the experiment of the run.
    """
    unknown = [section for section in said if section not in SECTIONS]
    if unknown or not any(said.values()):
        raise BadInput(Mistake(", ".join(unknown), "cannot join a run", f"it may be any of {', '.join(SECTIONS)}"))
    data = experiment.model_dump(by_alias=True)
    before = {section: len(data[section]) for section in SECTIONS}
    own_names = {str(part.name) for _, part in experiment.components()}
    names = [str(part.get("name")) for parts in said.values() for part in parts if part.get("name")]
    taken = [name for name in dict.fromkeys(names) if name in own_names]
    if taken:
        hint = "give it another name: '--as NAME' does"
        raise BadInput([Mistake(name, "is in the run already", hint) for name in taken])
    for section, parts in said.items():
        data[section] = [*data[section], *(move_paths(dict(part), folder, base) for part in parts)]
    try:
        whole = Experiment.model_validate(data)
    except ValidationError as error:
        raise BadInput([Origins().mistake(one, data) for one in findings_of(error, Experiment, data)]) from None
    # The rest of the experiment was checked before the run; its files may have changed since.
    wrong = [one for one in find_problems(whole, base) if _is_new(one.path, before)]
    added: list[Part] = [part for section in SECTIONS for part in getattr(whole, section)[before[section] :]]
    wrong += _find_unobservable(whole, before)
    if wrong:
        shown = whole.model_dump(by_alias=True, mode="python")
        raise BadInput([Origins().mistake(one, shown) for one in wrong])
    return Joined(whole, tuple(added))


def move_paths(part: dict[str, Any], folder: Path, base: Path) -> dict[str, Any]:
    """The part with its relative paths written from ``base`` instead of ``folder``."""
    if folder == base:
        return part

    def move(path: str) -> str:
        return path if os.path.isabs(path) else os.path.relpath(folder / path, base)

    moved = {key: move(value) if key in _FILES and isinstance(value, str) else value for key, value in part.items()}
    python = moved.get("python")
    if isinstance(python, str) and "/" in python:
        moved["python"] = move(python)
    arrivals = moved.get("arrivals")
    if isinstance(arrivals, dict) and isinstance(arrivals.get("file"), str):
        moved["arrivals"] = arrivals | {"file": move(arrivals["file"])}
    return moved


def find_hidden_files(parts: Sequence[Part], base: Path, visible: Sequence[Path]) -> list[Mistake]:
    """The files of parts that lie under ``/tmp``, where hosts have a folder of their own, outside what they see."""
    mistakes = []
    seen = [str(folder.resolve()) for folder in visible]
    for part in parts:
        for name in _FILES:
            said = getattr(part, name, None)
            path = str((base / said).resolve()) if said else ""
            if path.startswith("/tmp/") and not any(path.startswith(f"{folder}/") for folder in seen):
                hint = f"put it into {base}, the folder of the experiment"
                mistakes.append(Mistake(f"{part.name}.{name}", f"hosts of this run do not see {path}", hint))
    return mistakes


def _is_new(path: DataPath, before: Mapping[str, int]) -> bool:
    """Whether a finding is about a part that was added."""
    match path:
        case (str(section), int(number), *_):
            return section in before and number >= before[section]
    return False


def _find_unobservable(experiment: Experiment, before: Mapping[str, int]) -> list[Finding]:
    """Parts that ask for an observation that had to begin before the load."""
    return [
        Finding((section, number, "observe"), "packets are captured from the start of a run only", "leave it out")
        for section in SECTIONS
        for number, part in enumerate(getattr(experiment, section))
        if number >= before[section] and part.observe == "wire"
    ]
