"""Turns groups of faults into single faults that wait for each other.

    {name: storm, at: 10 s, sequence: [FAULT, {parallel: [FAULT, {sequence: [FAULT, FAULT]}]}, FAULT]}

A group starts like a fault (``at``, ``when``, ``after``). Its members start with the group or, in a sequence, when
the member before has ended with all that it contains. Members without a name are named after the nearest named group.
``after: storm`` means the end of the whole group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from stream2gym.kinds.settings import as_list
from stream2gym.spec.findings import DataPath, Finding, brief
from stream2gym.spec.model.default_names import fill_names

ORDERS = ("sequence", "parallel")
STARTS = ("at", "when", "after")
_OF_A_GROUP = ("name", *STARTS, *ORDERS)
_TOP = 2  # the length of the path of an item that is in no group
_OF_A_START = ("at", "within", "when", "after")


@dataclass
class FlatFaults:
    """Single faults in the order of the document, the path of each in the data, and what is wrong with the groups."""

    faults: list[Any]
    paths: list[DataPath]
    findings: list[Finding]


@dataclass
class _Leaf:
    """One fault of a group: its path, the start that its group gives it, and the faults that it follows."""

    fault: Any
    path: DataPath
    stem: str
    start: dict[str, Any] = field(default_factory=dict)
    follows: list[_Leaf] = field(default_factory=list)
    name: str = ""


def has_groups(items: Any) -> bool:
    """Whether a list of faults contains groups."""
    return isinstance(items, list | tuple) and any(map(_order, items))


def flatten_groups(items: list[Any], path: DataPath = ("faults",)) -> FlatFaults:
    """The single faults of a list that may contain groups."""
    writer = _Writer()
    for number, item in enumerate(items):
        writer.add(item, (*path, number))
    return writer.written()


@dataclass
class _Writer:
    """Collects the faults of groups."""

    leaves: list[_Leaf] = field(default_factory=list)
    # For each named group: the faults that end last.
    ends: dict[str, list[_Leaf]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(
        self,
        item: Any,
        path: DataPath,
        stem: str = "",
        start: Mapping[str, Any] = MappingProxyType({}),
        follows: Sequence[_Leaf] = (),
    ) -> list[_Leaf]:
        """Add the faults of an item. Returns those faults with whose ends the item ends."""
        order = _order(item)
        if not order:
            return [self._leaf(item, path, stem, start, follows)]
        self.findings += _wrong_in_group(item, path)
        stem = _name(item) or stem
        if len(path) == _TOP:
            start = {key: value for key in STARTS if (value := _get(item, key)) is not None}
        members = _get(item, order)
        last: list[_Leaf] = []
        for number, member in enumerate(members if isinstance(members, list | tuple) else ()):
            found = self.add(member, (*path, order, number), stem, start, follows)
            if order == "sequence":
                follows, start, last = found, {}, found
            else:
                last += found
        if name := _name(item):
            self.ends[name] = last
        return last

    def _leaf(
        self, item: Any, path: DataPath, stem: str, start: Mapping[str, Any], follows: Sequence[_Leaf]
    ) -> _Leaf:
        own = [key for key in _OF_A_START if _get(item, key) is not None]
        if own and len(path) > _TOP:
            hint = "the group says when it starts; 'delay' starts it later"
            self.findings.append(Finding((*path, own[0]), f"gives {own[0]} in a group", hint))
        leaf = _Leaf(item, path, stem or str(_get(item, "do") or "fault"), dict(start), list(follows))
        self.leaves.append(leaf)
        return leaf

    def written(self) -> FlatFaults:
        """The collected faults with their names, and with what they wait for."""
        given, stems = [_name(leaf.fault) for leaf in self.leaves], [leaf.stem for leaf in self.leaves]
        for leaf, name in zip(self.leaves, fill_names(given, stems, self.ends), strict=True):
            leaf.name = name
        grouped = {name: [leaf.name for leaf in last] for name, last in self.ends.items()}
        faults = [_plain(leaf, grouped) for leaf in self.leaves]
        return FlatFaults(faults, [leaf.path for leaf in self.leaves], self.findings)


def _wrong_in_group(item: Any, path: DataPath) -> Iterator[Finding]:
    """What is wrong with a group itself."""
    keys = [key for key in item if _get(item, key) is not None] if isinstance(item, Mapping) else []
    for key in keys:
        if key not in _OF_A_GROUP:
            yield Finding((*path, key), f"a group has no {brief(key)}", f"known: {', '.join(_OF_A_GROUP)}")
    given = [order for order in ORDERS if _get(item, order) is not None]
    if len(given) > 1:
        yield Finding(path, "is both a sequence and parallel", "put one group into the other")
    if not isinstance(members := _get(item, given[0]), list | tuple) or not members:
        yield Finding((*path, given[0]), "has no members", f"{given[0]}: [{{do: down, on: h1 -- s1, for: 5 s}}]")
    starts = [key for key in STARTS if _get(item, key) is not None]
    if len(path) > _TOP and starts:
        yield Finding((*path, starts[0]), f"gives {starts[0]} in a group", "the outer group says when it starts")
    elif len(path) == _TOP and len(starts) != 1:
        what = f"gives {' and '.join(starts)}" if starts else "does not say when it starts"
        yield Finding(path, what, "one of at, when, after")


def _plain(leaf: _Leaf, grouped: dict[str, list[str]]) -> Any:
    """The fault with its name and its start."""
    more: dict[str, Any] = dict(leaf.start)
    if leaf.follows:
        more = {"after": [one.name for one in leaf.follows]}
    waits = more.get("after", _get(leaf.fault, "after"))
    if waits is not None and isinstance(waits := as_list(waits), list | tuple):
        more["after"] = [name for one in waits for name in grouped.get(str(one).removeprefix("fault "), [one])]
    if len(leaf.path) > _TOP or not _name(leaf.fault):
        more["name"] = leaf.name
    if not more:
        return leaf.fault
    return {**leaf.fault, **more} if isinstance(leaf.fault, Mapping) else leaf.fault.model_copy(update=more)


def _order(item: Any) -> str:
    """``sequence`` or ``parallel`` for a group, empty for a fault."""
    return next((order for order in ORDERS if _get(item, order) is not None), "")


def _get(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)


def _name(item: Any) -> str | None:
    name = _get(item, "name")
    return name if isinstance(name, str) and name else None
