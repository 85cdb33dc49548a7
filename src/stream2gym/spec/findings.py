"""Findings and where they are: a path into the data of the experiment, and the file and line that it came from.

A path is a tuple of keys and indexes (``("producers", 0, "rate")``). Readers record the origins of the paths that
they know. The origin of any other path is that of the nearest path that contains it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stream2gym.errors import Mistake

DataPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Origin:
    """A place in a file. ``where`` names the element if its path would not be understood."""

    file: str = ""
    line: int | None = None
    where: str = ""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong at a path. A tolerant reading leaves out parts with a ``missing_file``."""

    path: DataPath
    what: str
    hint: str = ""
    missing_file: bool = False


@dataclass
class Origins:
    """The origins that a reader recorded."""

    known: dict[DataPath, Origin] = field(default_factory=dict)

    def at(self, path: DataPath) -> tuple[Origin, DataPath]:
        """The nearest origin, and the path that has it."""
        for length in range(len(path), -1, -1):
            origin = self.known.get(path[:length])
            if origin is not None:
                return origin, path[:length]
        return Origin(), ()

    def move(self, path: DataPath, old_paths: Sequence[DataPath]) -> None:
        """Note that the items of the list at ``path`` are now those that had these paths."""
        known = {one: origin for one, origin in self.known.items() if one[: len(path)] != path}
        known |= {path: self.known[path]} if path in self.known else {}
        for number, old in enumerate(old_paths):
            below = {one: origin for one, origin in self.known.items() if one[: len(old)] == old}
            known |= {(*path, number, *one[len(old) :]): origin for one, origin in below.items()}
        self.known = known

    def mistake(self, finding: Finding, data: Any = None) -> Mistake:
        """The finding as a mistake with file, line and element."""
        path = written_path(finding.path, data) if data is not None else finding.path
        origin, _ = self.at(path)
        where = origin.where or show_path(path, data)
        return Mistake(where=where, what=finding.what, hint=finding.hint, file=origin.file, line=origin.line)


def written_path(path: DataPath, data: Any) -> DataPath:
    """The part of a model's path that is in the data. Keys that validators added or moved are skipped."""
    written: list[str | int] = []
    here = data
    for step in path:
        if not (isinstance(here, dict) and step in here) and not _has_item(here, step):
            continue
        here = here[step]
        written.append(step)
    return tuple(written)


def _has_item(value: Any, step: str | int) -> bool:
    return isinstance(value, list | tuple) and isinstance(step, int) and 0 <= step < len(value)


def show_path(path: DataPath, data: Any = None) -> str:
    """The path as ``--set`` takes it. Items of lists are called by their names if they have one."""
    words: list[str] = []
    here = data
    for step in path:
        word = str(step)
        if isinstance(here, list | tuple) and isinstance(step, int):
            here = here[step] if 0 <= step < len(here) else None
            word = (item_name(here) if path[0] != "expect" else None) or word
        elif isinstance(here, dict):
            here = here.get(step)
        words.append(word)
    return ".".join(words)


def item_name(item: Any) -> str | None:
    """The name of an item of a list, as it is written in the data."""
    if isinstance(item, str) and len(item) <= 80:
        return item.partition(":")[0].strip() or None
    if isinstance(item, dict):
        between = item.get("between")
        if isinstance(between, list | tuple) and len(between) == 2:
            return f"{between[0]} -- {between[1]}"
        name = item.get("name")
        return name if isinstance(name, str) and name else None
    return None


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A hint for an unknown word: ``did you mean 'rate'?``, or the known words if none is similar."""
    names = list(dict.fromkeys(str(name) for name in known))
    if not names:
        return ""
    text = str(word)[:100]
    lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(text.lower(), lower, n=1, cutoff=0.6) if len(names) <= 2000 else []
    if near:
        return f"did you mean {lower[near[0]]!r}?"
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"known: {shown}"


def brief(value: object, limit: int = 60) -> str:
    """A value as text for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
