"""Groups of faults, one after the other or all at once, written out as single faults that wait for each other.

    {name: storm, at: 10 s, sequence: [FAULT, {parallel: [FAULT, {sequence: [FAULT, FAULT]}]}, FAULT]}

A group starts like a fault does (``at``, ``when``, ``after``); what is in it starts with the group or, in a sequence,
when everything of the member before has ended. Members without a name are called after the nearest named group, and
``after: storm`` means the end of the whole group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from stream2gym.kinds.base import as_list
from stream2gym.spec.names import fill_names
from stream2gym.spec.places import Finding, Place, brief

ORDERS = ("sequence", "parallel")
STARTS = ("at", "when", "after")
_OF_A_GROUP = ("name", *STARTS, *ORDERS)
_TOP = 2  # how long the place of an item is that stands in no group
_OF_A_START = ("at", "within", "when", "after")


@dataclass
class WrittenOut:
    """Plain faults in the order in which they were written, the place of each, and what is wrong with the groups."""

    faults: list[Any]
    places: list[Place]
    findings: list[Finding]


@dataclass
class _Leaf:
    fault: Any
    place: Place
    stem: str
    start: dict[str, Any] = field(default_factory=dict)  # what the group says
    follows: list[_Leaf] = field(default_factory=list)
    name: str = ""


def has_groups(items: Any) -> bool:
    return isinstance(items, list | tuple) and any(map(_order, items))


def write_out(items: list[Any], place: Place = ("faults",)) -> WrittenOut:
    """The faults of a list that may hold groups."""
    writer = _Writer()
    for number, item in enumerate(items):
        writer.add(item, (*place, number))
    return writer.written()


@dataclass
class _Writer:
    leaves: list[_Leaf] = field(default_factory=list)
    ends: dict[str, list[_Leaf]] = field(default_factory=dict)  # of named groups: what ends last
    findings: list[Finding] = field(default_factory=list)

    def add(
        self,
        item: Any,
        place: Place,
        stem: str = "",
        start: Mapping[str, Any] = MappingProxyType({}),
        follows: Sequence[_Leaf] = (),
    ) -> list[_Leaf]:
        """Append the faults of an item; gives back those whose ends are its end."""
        order = _order(item)
        if not order:
            return [self._leaf(item, place, stem, start, follows)]
        self.findings += _wrong_in_group(item, place)
        stem = _name(item) or stem
        if len(place) == _TOP:
            start = {key: value for key in STARTS if (value := _get(item, key)) is not None}
        members = _get(item, order)
        last: list[_Leaf] = []
        for number, member in enumerate(members if isinstance(members, list | tuple) else ()):
            found = self.add(member, (*place, order, number), stem, start, follows)
            if order == "sequence":
                follows, start, last = found, {}, found
            else:
                last += found
        if name := _name(item):
            self.ends[name] = last
        return last

    def _leaf(
        self, item: Any, place: Place, stem: str, start: Mapping[str, Any], follows: Sequence[_Leaf]
    ) -> _Leaf:
        own = [key for key in _OF_A_START if _get(item, key) is not None]
        if own and len(place) > _TOP:
            hint = "the group says when it starts; 'delay' moves it"
            self.findings.append(Finding((*place, own[0]), f"gives {own[0]} in a group", hint))
        leaf = _Leaf(item, place, stem or str(_get(item, "do") or "fault"), dict(start), list(follows))
        self.leaves.append(leaf)
        return leaf

    def written(self) -> WrittenOut:
        given, stems = [_name(leaf.fault) for leaf in self.leaves], [leaf.stem for leaf in self.leaves]
        for leaf, name in zip(self.leaves, fill_names(given, stems, self.ends), strict=True):
            leaf.name = name
        grouped = {name: [leaf.name for leaf in last] for name, last in self.ends.items()}
        faults = [_plain(leaf, grouped) for leaf in self.leaves]
        return WrittenOut(faults, [leaf.place for leaf in self.leaves], self.findings)


def _wrong_in_group(item: Any, place: Place) -> Iterator[Finding]:
    keys = [key for key in item if _get(item, key) is not None] if isinstance(item, Mapping) else []
    for key in keys:
        if key not in _OF_A_GROUP:
            yield Finding((*place, key), f"a group has no {brief(key)}", f"known: {', '.join(_OF_A_GROUP)}")
    given = [order for order in ORDERS if _get(item, order) is not None]
    if len(given) > 1:
        yield Finding(place, "is a sequence and parallel at once", "put one group into the other")
    if not isinstance(members := _get(item, given[0]), list | tuple) or not members:
        yield Finding(
            (*place, given[0]), "has no members", f"{given[0]}: [{{do: down, on: h1 -- s1, for: 5 s}}]"
        )
    starts = [key for key in STARTS if _get(item, key) is not None]
    if len(place) > _TOP and starts:
        yield Finding(
            (*place, starts[0]), f"gives {starts[0]} in a group", "the outer group says when it starts"
        )
    elif len(place) == _TOP and len(starts) != 1:
        what = f"gives {' and '.join(starts)}" if starts else "does not say when it starts"
        yield Finding(place, what, "one of at, when, after")


def _plain(leaf: _Leaf, grouped: dict[str, list[str]]) -> Any:
    """The fault with its name, and with what it waits for."""
    more: dict[str, Any] = dict(leaf.start)
    if leaf.follows:
        more = {"after": [one.name for one in leaf.follows]}
    waits = more.get("after", _get(leaf.fault, "after"))
    if waits is not None and isinstance(waits := as_list(waits), list | tuple):
        more["after"] = [
            name for one in waits for name in grouped.get(str(one).removeprefix("fault "), [one])
        ]
    if len(leaf.place) > _TOP or not _name(leaf.fault):
        more["name"] = leaf.name
    if not more:
        return leaf.fault
    return {**leaf.fault, **more} if isinstance(leaf.fault, Mapping) else leaf.fault.model_copy(update=more)


def _order(item: Any) -> str:
    return next((order for order in ORDERS if _get(item, order) is not None), "")


def _get(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)


def _name(item: Any) -> str | None:
    name = _get(item, "name")
    return name if isinstance(name, str) and name else None
