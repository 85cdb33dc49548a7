"""The grammar of expectations: ``metric[.stat][(filter=value, ...)] op quantity``.

Expectations are checked against the closed list of metrics before anything runs, so that a typing error costs a
second and not a run. The values of filters are names or globs (``topic=in*``); a value with a comma stands in quotes.
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
    """A checked expectation. ``value`` is in the base unit of the metric."""

    text: str
    metric: str
    stat: str
    op: str
    value: float
    filters: dict[str, str] = field(default_factory=dict)

    @property
    def definition(self) -> Metric:
        """The metric that the expectation is about."""
        metric = metrics.find(self.metric)
        if metric is None:
            raise ValueError(_unknown_metric(self.metric))
        return metric

    @property
    def quantity(self) -> Quantity:
        """The value with its unit."""
        return self.definition.unit(self.value)

    def holds(self, measured: float) -> bool:
        """Whether a measured value meets the expectation."""
        return OPERATORS[self.op](measured, self.value)


# Up to this many known names are listed beside the one that was probably meant.
FEW = 12


def parse_expectation(text: str) -> Expectation:
    """Read one expectation. A ValueError says what is wrong and what would be right."""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"not an expectation: {text!r}; write {FORM}")
    metric = _metric(head["metric"])
    rest = text[head.end() :]
    filters: dict[str, str] = {}
    if rest.startswith("("):
        inside = _FILTERS.match(rest)
        if inside is None:
            raise ValueError(f"the filters of {text!r} have no closing bracket; write {FORM}")
        filters = _filters(metric, inside["inside"])
        rest = rest[inside.end() :]
    tail = _TAIL.match(rest)
    if tail is None:
        what = "has no comparison" if not rest else f"has {rest.strip()!r} where a comparison should stand"
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
    """One text for each filter value that matches no name. ``names`` are the names that some filters can have."""
    wrong = []
    for filter_, wanted in expectation.filters.items():
        if filter_ not in names:
            continue
        known = list(names[filter_])
        if not any(fnmatchcase(name, wanted) for name in known):
            wrong.append(_unknown(filter_, wanted, known))
    return wrong


def _metric(name: str) -> Metric:
    metric = metrics.find(name)
    if metric is None:
        raise ValueError(_unknown_metric(name))
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
                raise ValueError(f"{metric.name} takes no filters, so {name!r} is not one")
            raise ValueError(_unknown(f"filter of {metric.name}", name, metric.filters))
        if name in filters:
            raise ValueError(f"the filter {name!r} is given twice")
        filters[name] = value.strip("\"'")
        if name == "of" and filters[name] != metric.of:
            raise ValueError(
                f"{metric.name} can be asked of={metric.of}, not of={filters[name]}; "
                f"of={metric.of} leaves out messages that never arrived"
            )
    return filters


def _value(metric: Metric, text: str) -> float:
    try:
        return float(metric.unit.parse(text))
    except UnitError as error:
        raise ValueError(f"{metric.name} is a {metric.unit.NOUN} ({metric.noun}): {error}") from None


def _unknown_metric(name: str) -> str:
    told = _unknown("metric", name, [metric.name for metric in metrics.known()])
    for plug_in, reason in metrics.broken().items():
        told += f"; the metric plug-in {plug_in!r} cannot be loaded: {reason}"
    return told


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close and len(names) > FEW:
        return f"unknown {what} {name!r}; did you mean {close[0]!r}?"
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown {what} {name!r}; {hint}known: {', '.join(names) or 'none'}"
