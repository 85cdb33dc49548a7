"""Removes the invalid parts from the data of an experiment, so that the rest can be checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stream2gym.spec.findings import DataPath, Finding
from stream2gym.spec.model.experiment import GROUPS

# In ``excused``: a whole section was removed, so no name is reported as unknown.
EVERYTHING = "*"


_SECTIONS = frozenset(("topology", "hosts", "switches", "links", "topics", "faults", *GROUPS))


class _Gone:
    """Marks a removed item until its list is closed up."""


@dataclass
class Pruned:
    """The remaining data, the original indexes of list items, and the names of what was removed."""

    data: dict[str, Any]
    excused: set[str] = field(default_factory=set)
    # For each shortened list: the original indexes of its items.
    kept: dict[DataPath, list[int]] = field(default_factory=dict)

    def original(self, path: DataPath) -> DataPath:
        """The path in the original data for a path in the remaining data."""
        back: DataPath = ()
        for step in path:
            indexes = self.kept.get(back)
            moved = indexes is not None and isinstance(step, int) and step < len(indexes)
            back = (*back, indexes[step] if moved and indexes and isinstance(step, int) else step)
        return back


def prune(data: dict[str, Any], findings: list[Finding]) -> Pruned:
    """Remove the parts that the findings are about."""
    result = Pruned(_copied(data))
    for finding in findings:
        _remove(result.data, finding.path, result.excused)
    result.data = _closed(result.data, (), result.kept)
    return result


def _remove(data: Any, path: DataPath, excused: set[str]) -> None:
    """Remove the part at a path, and note the names of what it defined."""
    if not path:
        return
    here: Any = data
    for step in path[:-1]:
        if isinstance(here, _Gone) or (isinstance(here, dict) and step not in here):
            return  # it was removed together with a part that contains it
        here = here[step]
    last = path[-1]
    if isinstance(here, dict) and last in here:
        removed = here.pop(last)
        excused.add(f"#{last}")
        if last in _SECTIONS and len(path) <= 2:
            excused.add(EVERYTHING)
    elif isinstance(here, list) and isinstance(last, int):
        removed, here[last] = here[last], _Gone()
        excused.add(f"#{path[-2]}")
    else:
        return
    _excuse(removed, excused)


def _excuse(removed: Any, excused: set[str]) -> None:
    """Note every name that the removed part defined."""
    if isinstance(removed, str):
        excused.add(removed.partition(":")[0].strip())
    elif isinstance(removed, dict):
        for key, value in removed.items():
            if key in ("name", "on") or isinstance(value, list):
                _excuse(value, excused)
    elif isinstance(removed, list):
        for item in removed:
            _excuse(item, excused)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _closed(value: Any, path: DataPath, kept: dict[DataPath, list[int]]) -> Any:
    """The data without the marks of removed items. ``kept`` gets the original indexes of shortened lists."""
    if isinstance(value, dict):
        return {key: _closed(item, (*path, key), kept) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    stay = [index for index, item in enumerate(value) if not isinstance(item, _Gone)]
    if len(stay) < len(value):
        kept[path] = stay
    return [_closed(value[index], (*path, index), kept) for index in stay]
