"""The grammar of expectations: ``metric[.stat][(filter=value, ...)] op quantity``.

Text is checked against the closed list of metrics before anything runs, so that a typing error costs a
second and not a run. Values of filters are names or globs (``topic=in*``); quotes protect commas.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from stream2gym.jsonable import Jsonable
from stream2gym.kinds import metrics
from stream2gym.kinds.metrics import Metric
from stream2gym.units import Quantity, UnitError

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
FORM = "metric[.stat][(filter=value, ...)] op quantity, like 'latency.p99(topic=in) < 2 s'"

_HEAD = re.compile(r"^\s*(?P<metric>[A-Za-z_][A-Za-z0-9_-]*)(?:\.(?P<stat>[A-Za-z0-9_.]+))?\s*")
_QUOTED = r"\"[^\"]*\"|'[^']*'"
_FILTERS = re.compile(rf"^\((?P<inside>(?:{_QUOTED}|[^()'\"])*)\)\s*")
_PART = re.compile(rf"(?:{_QUOTED}|[^,'\"])+")
_TAIL = re.compile(r"^(?P<op>==|!=|<=|>=|<|>)\s*(?P<quantity>\S.*?)\s*$")


@dataclass(frozen=True)
class Expectation(Jsonable):
    """A checked expectation; ``value`` is in the base unit of the metric."""

    text: str
    metric: str
    stat: str
    op: str
    value: float
    filters: dict[str, str] = field(default_factory=dict)

    @property
    def definition(self) -> Metric:
        metric = metrics.find(self.metric)
        if metric is None:
            raise ValueError(_unknown("metric", self.metric, [m.name for m in metrics.known()]))
        return metric

    @property
    def quantity(self) -> Quantity:
        return self.definition.unit(self.value)

    def holds(self, measured: float) -> bool:
        return OPERATORS[self.op](measured, self.value)


FEW = 12  # as many names are listed beside the one that was probably meant


def parse_expectation(text: str) -> Expectation:
    """Read one expectation; a ``ValueError`` says what is wrong and what would be right."""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"not an expectation: {text!r}; write {FORM}")
    metric = _metric(head["metric"])
    rest = text[head.end() :]
    filters: dict[str, str] = {}
    if rest.startswith("("):
        inside = _FILTERS.match(rest)
        if inside is None:
            raise ValueError(f"the filters of {text!r} do not end; write {FORM}")
        filters = _filters(metric, inside["inside"])
        rest = rest[inside.end() :]
    tail = _TAIL.match(rest)
    if tail is None:
        what = "does not compare" if not rest else f"has {rest.strip()!r} where a comparison should stand"
        raise ValueError(f"{text!r} {what}; write {FORM}, op one of {' '.join(OPERATORS)}")
    return Expectation(
        text=text.strip(),
        metric=metric.name,
        stat=_stat(metric, head["stat"]),
        op=tail["op"],
        value=_value(metric, tail["quantity"]),
        filters=filters,
    )


def unknown_names(expectation: Expectation, names: Mapping[str, Iterable[str]]) -> list[str]:
    """What is wrong with filter values, given the names that the experiment has for some filters."""
    wrong = []
    for filter_, wanted in expectation.filters.items():
        if filter_ not in names:
            continue
        there = list(names[filter_])
        if not any(fnmatchcase(name, wanted) for name in there):
            wrong.append(_unknown(filter_, wanted, there))
    return wrong


def _metric(name: str) -> Metric:
    metric = metrics.find(name)
    if metric is None:
        raise ValueError(_unknown("metric", name, [metric.name for metric in metrics.known()]))
    return metric


def _stat(metric: Metric, stat: str | None) -> str:
    if stat is None:
        return metric.stats[0]
    if stat not in metric.stats:
        raise ValueError(_unknown(f"statistic of {metric.name}", stat, metric.stats))
    return stat


def _filters(metric: Metric, inside: str) -> dict[str, str]:
    filters: dict[str, str] = {}
    for part in _PART.findall(inside):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"{part.strip()!r} is not a filter; write it like 'topic=in'")
        if name not in metric.filters:
            if not metric.filters:
                raise ValueError(f"{metric.name} takes no filter, not even {name!r}")
            raise ValueError(_unknown(f"filter of {metric.name}", name, metric.filters))
        if name in filters:
            raise ValueError(f"the filter {name!r} stands twice")
        filters[name] = value.strip("\"'")
    return filters


def _value(metric: Metric, text: str) -> float:
    try:
        return float(metric.unit.parse(text))
    except UnitError as error:
        raise ValueError(f"{metric.name} is a {metric.unit.NOUN} ({metric.noun}): {error}") from None


def _unknown(what: str, name: str, there: Iterable[str]) -> str:
    there = list(there)
    close = difflib.get_close_matches(name, there, n=1)
    if close and len(there) > FEW:
        return f"unknown {what} {name!r}; did you mean {close[0]!r}?"
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown {what} {name!r}; {hint}known: {', '.join(there) or 'none'}"
