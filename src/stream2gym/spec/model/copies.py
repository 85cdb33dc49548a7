"""Turns an item with ``copies: N`` into N items that differ in a number only.

    {name: viewer, on: "v{n}", copies: 3, topics: [images]}

stands for ``viewer-1`` on v1, ``viewer-2`` on v2 and ``viewer-3`` on v3. ``{n}`` in any text of the item is its
number, from 1. A name without ``{n}`` gets the number at its end. So a number of components is one setting, which
``--set`` and the axes of a sweep can change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stream2gym.spec.findings import DataPath

MOST_COPIES = 10_000
NUMBER = "{n}"


@dataclass
class Copied:
    """The items of a list with every copy written out, and the path that each had in the data."""

    items: list[Any] = field(default_factory=list)
    paths: list[DataPath] = field(default_factory=list)


def has_copies(items: Any) -> bool:
    """Whether an item of a list says how many copies of it there are."""
    return isinstance(items, list | tuple) and any(_count_copies(item) is not None for item in items)


def write_out_copies(items: list[Any], path: DataPath = ()) -> Copied:
    """Write out the copies of a list. The model tells of a number of copies that is not sound; such an item stays."""
    out = Copied()
    for index, item in enumerate(items):
        count = _count_copies(item)
        for number in range(1, 1 + (1 if count is None else count)):
            out.items.append(item if count is None else _make_copy(item, number))
            out.paths.append((*path, index))
    return out


def without_copies(items: Any) -> Any:
    """The items of a list, with copies written out: for models that are built in Python."""
    return write_out_copies(list(items)).items if has_copies(items) else items


def _count_copies(item: Any) -> int | None:
    """How many copies an item of plain data asks for. None: it asks for none, or for no sound number."""
    count = item.get("copies") if isinstance(item, Mapping) else None
    is_sound = isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= MOST_COPIES
    return count if is_sound else None


def _make_copy(item: Mapping[str, Any], number: int) -> dict[str, Any]:
    made = {key: _fill_in(value, number) for key, value in item.items() if key != "copies"}
    name = item.get("name")
    if isinstance(name, str) and NUMBER not in name:
        made["name"] = f"{name}-{number}"
    return made


def _fill_in(value: Any, number: int) -> Any:
    """The value with its number in every text."""
    if isinstance(value, str):
        return value.replace(NUMBER, str(number))
    if isinstance(value, Mapping):
        return {key: _fill_in(child, number) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_fill_in(child, number) for child in value]
    return value
