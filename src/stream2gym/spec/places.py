"""Where things stand in the user's files: a path into the experiment's data, and the line it came from.

A path is a tuple of keys and indexes (``("producers", 0, "rate")``). Doors record the origins they know; what
is asked for is the nearest one that contains the path, so a file may say as much as it can.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stream2gym.errors import Mistake

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Origin:
    """A place in a file; ``where`` names the element when its path would not."""

    file: str = ""
    line: int | None = None
    where: str = ""


@dataclass(frozen=True)
class Finding:
    """Something wrong at a path. ``missing_file`` marks what a tolerant reading may leave out."""

    path: Place
    what: str
    hint: str = ""
    missing_file: bool = False


@dataclass
class Origins:
    """The origins that a door recorded."""

    known: dict[Place, Origin] = field(default_factory=dict)

    def at(self, path: Place) -> tuple[Origin, Place]:
        """The nearest origin, and the path that it stands for."""
        for length in range(len(path), -1, -1):
            origin = self.known.get(path[:length])
            if origin is not None:
                return origin, path[:length]
        return Origin(), ()

    def move(self, path: Place, places: Sequence[Place]) -> None:
        """The items of the list at ``path`` are now those that stood at these places."""
        known = {place: origin for place, origin in self.known.items() if place[: len(path)] != path}
        known |= {path: self.known[path]} if path in self.known else {}
        for number, old in enumerate(places):
            below = {place: origin for place, origin in self.known.items() if place[: len(old)] == old}
            known |= {(*path, number, *place[len(old) :]): origin for place, origin in below.items()}
        self.known = known

    def mistake(self, finding: Finding, data: Any = None) -> Mistake:
        """The finding as a mistake that names file, line and element."""
        path = written_path(finding.path, data) if data is not None else finding.path
        origin, _ = self.at(path)
        where = origin.where or show_path(path, data)
        return Mistake(where=where, what=finding.what, hint=finding.hint, file=origin.file, line=origin.line)


def written_path(path: Place, data: Any) -> Place:
    """The part of a model's path that the data really has: widened and moved keys are skipped."""
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


def show_path(path: Place, data: Any = None) -> str:
    """The path as ``--set`` takes it: items of lists by their names where they have one."""
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
    """What an item of a list is called in the data as written."""
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
    """``did you mean 'rate'?``, or the known ones when nothing is near."""
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
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
