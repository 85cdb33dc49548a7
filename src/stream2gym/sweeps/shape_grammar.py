"""The grammar of expectations on shapes: ``RESPONSE over AXIS [where AXIS=VALUE, ...]: SHAPE``.

Shapes are ``linear``, ``linear(r2 > 0.98, slope > 2)``, ``increasing``, ``decreasing``, ``constant(within 5 %)`` and
``plateau after 8``. All but ``linear`` take ``(within SHARE)``, a share by which values may differ. A text is checked
before anything runs, so that a typing error costs a second and not a sweep.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from stream2gym.spec.findings import did_you_mean
from stream2gym.units import Share, UnitError

ShapeName = Literal["linear", "increasing", "decreasing", "constant", "plateau"]
SHAPES: tuple[str, ...] = get_args(ShapeName)
FORM = "RESPONSE over AXIS: SHAPE, like 'latency.mean over delay: linear(r2 > 0.98)'"
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
# What a shape allows when it says nothing of it.
DEFAULT_R2 = 0.95
DEFAULT_WITHIN: dict[str, float] = {"increasing": 0.0, "decreasing": 0.0, "constant": 0.1, "plateau": 0.1}

_OVER = re.compile(r"\s+over\s+")
_SHAPE = re.compile(r"\s*(?P<name>[a-z]+)\s*(?:after\s+(?P<after>[^()]+?))?\s*(?:\((?P<inside>[^()]*)\))?\s*")
_BOUND = re.compile(r"\s*(?P<what>r2|slope)\s*(?P<op><=|>=|<|>)\s*(?P<number>\S+)\s*")
_WITHIN = re.compile(r"\s*within\s+(?P<share>.+?)\s*")


@dataclass(frozen=True)
class Bound:
    """A comparison of a number of the fit: ``r2 > 0.98``."""

    what: Literal["r2", "slope"]
    op: str
    number: float

    def holds(self, value: float) -> bool:
        return COMPARISONS[self.op](value, self.number)

    def __str__(self) -> str:
        return f"{self.what} {self.op} {self.number:g}"


@dataclass(frozen=True)
class ShapeExpectation:
    """A checked expectation on the shape of a response over an axis."""

    text: str
    response: str
    axis: str
    shape: ShapeName
    # Only points with these values of other axes, as they are written.
    where: dict[str, str] = field(default_factory=dict)
    # Of ``linear``.
    bounds: tuple[Bound, ...] = ()
    # Of all other shapes: the share by which values may differ.
    within: float = 0.0
    # Of ``plateau``: the value of the axis from which it does not change any more.
    after: Any = None


def parse_shape(text: str, responses: Iterable[str], axes: Iterable[str]) -> ShapeExpectation:
    """Read one expectation. A ValueError says what is wrong and, after "; ", what would be right."""
    responses, axes = list(responses), list(axes)
    parts = _OVER.split(text.strip(), maxsplit=1)
    if len(parts) != 2:
        raise ValueError(f"{text!r} is no expectation on a shape; write {FORM}")
    response = _find(parts[0].strip(), responses, "response")
    axis, rest = _split_axis(parts[1], axes)
    where: dict[str, str] = {}
    if rest.lstrip().startswith("where "):
        conditions, colon, shape = rest.lstrip().removeprefix("where ").rpartition(":")
        where = _parse_where(conditions if colon else shape, axes, axis)
        rest = f"{colon}{shape}" if colon else ""
    if not rest.lstrip().startswith(":"):
        raise ValueError(f"{text!r} says no shape; write {FORM}, SHAPE one of {', '.join(SHAPES)}")
    return _parse_form(text.strip(), response, axis, where, rest.lstrip()[1:])


def _find(word: str, known: list[str], what: str) -> str:
    squeezed = {"".join(name.split()): name for name in known}
    found = squeezed.get("".join(word.split()))
    if found is None:
        raise ValueError(f"there is no {what} {word!r}; {did_you_mean(word, known) or 'none is given'}")
    return found


def _split_axis(text: str, axes: list[str]) -> tuple[str, str]:
    """The axis that the text begins with, the longest that fits, and what follows it."""
    fits = [name for name in axes if re.match(rf"{re.escape(name)}\s*(:|where\s|$)", text)]
    if fits:
        name = max(fits, key=len)
        return name, text[len(name) :]
    word = text.partition(":")[0].partition(" where ")[0].strip()
    raise ValueError(f"there is no axis {word!r}; {did_you_mean(word, axes) or 'none is given'}")


def _parse_where(text: str, axes: list[str], over: str) -> dict[str, str]:
    where: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"{part.strip()!r} is no condition; write it like 'where acks=all'")
        name = _find(name, [axis for axis in axes if axis != over], "other axis")
        where[name] = value
    return where


def _parse_form(text: str, response: str, axis: str, where: Mapping[str, str], form: str) -> ShapeExpectation:
    match = _SHAPE.fullmatch(form)
    name = match["name"] if match else form.strip()
    if match is None or name not in SHAPES:
        raise ValueError(f"unknown shape {name!r}; {did_you_mean(name, SHAPES)}")
    if (match["after"] is not None) != (name == "plateau"):
        raise ValueError(f"{form.strip()!r} is no shape; write 'plateau after VALUE', and 'after' with no other")
    inside = match["inside"] or ""
    given = dict(where)
    if name == "linear":
        bounds = tuple(_parse_bound(part) for part in inside.split(",") if part.strip())
        if not any(bound.what == "r2" for bound in bounds):
            bounds = (Bound("r2", ">=", DEFAULT_R2), *bounds)
        return ShapeExpectation(text, response, axis, "linear", given, bounds)
    within = _parse_within(inside, DEFAULT_WITHIN[name])
    return ShapeExpectation(text, response, axis, name, given, (), within, match["after"])  # type: ignore[arg-type]


def _parse_bound(part: str) -> Bound:
    match = _BOUND.fullmatch(part)
    try:
        if match is None:
            raise ValueError(part)
        return Bound(match["what"], match["op"], float(match["number"]))  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(f"{part.strip()!r} is no bound of a fit; write 'r2 > 0.98' or 'slope > 2'") from None


def _parse_within(inside: str, default: float) -> float:
    if not inside.strip():
        return default
    match = _WITHIN.fullmatch(inside)
    try:
        if match is None:
            raise UnitError(inside)
        return float(Share.parse(match["share"]))
    except UnitError:
        raise ValueError(f"{inside.strip()!r} is no tolerance; write 'within 5 %'") from None
