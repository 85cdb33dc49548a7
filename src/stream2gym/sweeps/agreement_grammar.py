"""What a sweep file says of agreement with published values: which quantity of which response beside which value.

``of`` is ``RESPONSE [over AXIS] [by AXIS] [where AXIS=VALUE, ...]``. The quantity (``what``) is computed in the same
way from the responses of the sweep and from the published series. ``find_agreement_problems`` checks it all before
anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pydantic import Field

from stream2gym.kinds.settings import Model, Strings, Text
from stream2gym.spec.findings import DataPath, Finding, did_you_mean
from stream2gym.sweeps.axis_values import read_number_line
from stream2gym.sweeps.published_values import PublishedTable
from stream2gym.sweeps.shape_grammar import parse_shape
from stream2gym.units import Quantity, Share, UnitError

What = Literal[
    "value",
    "slope",
    "intercept",
    "r2",
    "rise",
    "spread",
    "order",
    "slope order",
    "shape",
    "mean error",
    "worst error",
]
WHATS: tuple[str, ...] = get_args(What)
ERRORS = ("mean error", "worst error")
# Quantities that carry the unit of the response; the others are numbers without a unit.
WITH_UNIT = ("value", "slope", "intercept", *ERRORS)
# Quantities that may be shown without a published one.
ALONE = ("value", "slope", "intercept", "r2", "rise", "spread")
# Quantities whose tolerance may be a quantity of the response, and not only a share.
_WITH_ABSOLUTE = ("value", "intercept", *ERRORS)
ITEM = "item"
FORM = "RESPONSE [over AXIS] [by AXIS] [where AXIS=VALUE, ...], like 'latency.mean over delay where link=h2'"

_CLAUSE = re.compile(r"\s+(over|by|where)\s+")


class Agreement(Model):
    """One line of the table of agreement."""

    name: str = Field(default="", description="what the table calls it; default: what and of")
    what: What = Field(description="the quantity that is computed from our values and from the published ones")
    of: str = Field(description=FORM)
    published: str = Field(
        default="",
        description="a series of the published values; {AXIS} stands for the values of the 'by' axis; without it our "
        "value stands alone",
    )
    against: str = Field(
        default="",
        description="instead of 'published': another response of this sweep at one point, "
        "RESPONSE [where AXIS=VALUE, ...]",
    )
    times: float = Field(default=1.0, gt=0, description="what the value of 'against' is multiplied with")
    at: Text | None = Field(
        default=None, description="of 'value': the x of the published series; of errors: the one x that counts"
    )
    original: Strings = Field(
        default_factory=list,
        description="of errors: the error of others, shown beside ours: a published share, or two published series "
        "of which the first is held against the second",
    )
    shape: str = Field(default="", description="of 'shape': a shape, such as 'plateau after 8'")
    within: Strings = Field(
        default_factory=list,
        description="the tolerance that is claimed: a share, a quantity, or several (one suffices); without it "
        "both values are shown and nothing is claimed",
    )
    note: str = Field(default="", description="one short sentence for the table")

    @property
    def label(self) -> str:
        return self.name or f"{self.what} of {self.of}"


@dataclass(frozen=True)
class ComparedResponse:
    """``of``, parsed. ``where`` may name the item of a response, too."""

    response: str
    axis: str = ""
    by: str = ""
    where: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tolerance:
    """The largest difference that counts as agreement: a share of the published value, or an absolute one."""

    text: str
    share: float = 0.0
    absolute: float = 0.0

    def allowed(self, published: float) -> float:
        return max(self.share * abs(published), self.absolute)


def parse_compared(text: str, responses: Iterable[str], axes: Iterable[str]) -> ComparedResponse:
    """Read ``of``. A ValueError says what is wrong and, after "; ", what would be right."""
    names, axes = list(responses), list(axes)
    stripped = text.strip()
    fits = [
        name for name in names if stripped == name or _CLAUSE.match(stripped[len(name) :] * stripped.startswith(name))
    ]
    if not fits:
        word = _CLAUSE.split(stripped)[0]
        raise ValueError(f"there is no response {word!r}; {did_you_mean(word, names) or FORM}")
    response = max(fits, key=len)
    pieces = _CLAUSE.split(stripped[len(response) :])[1:]
    clauses = dict(zip(pieces[::2], pieces[1::2], strict=True))
    if list(clauses) != [word for word in ("over", "by", "where") if word in clauses] or len(pieces) > 2 * len(
        clauses
    ):
        raise ValueError(f"{text!r} cannot be read; write {FORM}")
    for word in ("over", "by"):
        if word in clauses and clauses[word] not in axes:
            raise ValueError(f"there is no axis {clauses[word]!r}; {did_you_mean(clauses[word], axes)}")
    axis, by = clauses.get("over", ""), clauses.get("by", "")
    where = (
        _parse_where(clauses["where"], [name for name in axes if name not in (axis, by)])
        if "where" in clauses
        else {}
    )
    return ComparedResponse(response, axis, by, where)


def _parse_where(text: str, axes: Sequence[str]) -> dict[str, str]:
    where: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"{part.strip()!r} is no condition; write it like 'where link=h2'")
        if name not in (*axes, ITEM):
            raise ValueError(f"there is no other axis {name!r}; {did_you_mean(name, (*axes, ITEM))}")
        where[name] = value
    return where


def parse_tolerances(agreement: Agreement, quantity: type[Quantity]) -> tuple[Tolerance, ...]:
    """The tolerances of a line. A ValueError says what is wrong and, after "; ", what would be right."""
    return tuple(_parse_tolerance(text, agreement.what, quantity) for text in agreement.within)


def _parse_tolerance(text: str, what: str, quantity: type[Quantity]) -> Tolerance:
    try:
        return Tolerance(text, share=float(Share.parse(text)))
    except UnitError:
        pass
    if what in _WITH_ABSOLUTE:
        try:
            return Tolerance(text, absolute=float(quantity.parse(text)))
        except UnitError as error:
            raise ValueError(f"{text!r} is no tolerance: {error}; 'within: 5 %', or a {quantity.NOUN}") from None
    raise ValueError(f"{text!r} is no tolerance of {what!r}; a share, such as 'within: 5 %'")


def series_names(agreement: Agreement, by: str, values: Iterable[Any]) -> dict[str, str]:
    """The published series of a line, by the value of its ``by`` axis ("" without one)."""
    if not by:
        return {"": agreement.published}
    return {str(value): agreement.published.replace(f"{{{by}}}", str(value)) for value in values}


def find_agreement_problems(
    lines: Sequence[Agreement],
    quantities: Mapping[str, type[Quantity]],
    axes: Mapping[str, Sequence[Any]],
    table: PublishedTable,
) -> Iterator[Finding]:
    """What is wrong in the lines. ``quantities`` are those of the responses, ``axes`` have their values."""
    if any(line.published for line in lines) and not table.values:
        yield Finding(("agreement",), "there are no published values to agree with", "published: published.csv")
        return
    for number, line in enumerate(lines):
        try:
            compared = parse_compared(line.of, quantities, axes)
        except ValueError as error:
            yield _finding(("agreement", number, "of"), error)
            continue
        yield from _find_line_problems(number, line, compared, axes)
        if line.against:
            yield from _find_against_problems(number, line, quantities, axes)
        try:
            parse_tolerances(line, quantities[compared.response])
        except ValueError as error:
            yield _finding(("agreement", number, "within"), error)
        quantity = quantities[compared.response]
        yield from _find_published_problems(number, line, compared, quantity, axes=axes, table=table)


def _finding(path: DataPath, error: ValueError) -> Finding:
    what, _, hint = str(error).partition("; ")
    return Finding(path, what, hint)


def _find_line_problems(
    number: int, line: Agreement, compared: ComparedResponse, axes: Mapping[str, Sequence[Any]]
) -> Iterator[Finding]:
    path: DataPath = ("agreement", number)
    if bool(compared.axis) == (line.what == "value"):
        hint = "leave out 'over'" if compared.axis else f"'of: {compared.response} over {next(iter(axes), 'AXIS')}'"
        yield Finding((*path, "of"), f"{line.what} is {'not ' * bool(compared.axis)}computed over an axis", hint)
    if bool(compared.by) != (line.what == "slope order"):
        hint = "leave out 'by'" if compared.by else "'of: RESPONSE over AXIS by AXIS'"
        yield Finding((*path, "of"), f"{line.what!r} {'takes no' if compared.by else 'needs a'} 'by' axis", hint)
    yield from _find_where_problems((*path, "of"), compared, axes)
    if line.at is not None and line.what not in ("value", *ERRORS):
        yield Finding((*path, "at"), f"{line.what!r} is not taken at one x", "only 'what: value' and errors are")
    elif line.at is not None and compared.axis and line.at not in map(str, axes[compared.axis]):
        hint = did_you_mean(line.at, map(str, axes[compared.axis]))
        yield Finding((*path, "at"), f"{compared.axis} never is {line.at!r}", hint)
    if line.original and line.what not in ERRORS:
        yield Finding((*path, "original"), f"{line.what!r} is no error", f"'what' one of {', '.join(ERRORS)}")
    if bool(line.shape) != (line.what == "shape"):
        yield Finding(path, "'what: shape' and 'shape' belong together", "what: shape, shape: plateau after 8")
    elif line.what == "shape" and compared.axis:
        try:
            parse_shape(f"{compared.response} over {compared.axis}: {line.shape}", [compared.response], axes)
        except ValueError as error:
            yield _finding((*path, "shape"), error)
    if line.what == "shape" and line.within:
        yield Finding(
            (*path, "within"), "a shape has its tolerance in brackets", "shape: plateau after 8 (within 5 %)"
        )


def _find_where_problems(
    path: DataPath, compared: ComparedResponse, axes: Mapping[str, Sequence[Any]]
) -> Iterator[Finding]:
    for name, wanted in compared.where.items():
        if name != ITEM and wanted not in map(str, axes[name]):
            yield Finding(path, f"{name} never is {wanted!r}", did_you_mean(wanted, map(str, axes[name])))


def _find_against_problems(
    number: int, line: Agreement, quantities: Mapping[str, type[Quantity]], axes: Mapping[str, Sequence[Any]]
) -> Iterator[Finding]:
    path: DataPath = ("agreement", number, "against")
    try:
        compared = parse_compared(line.against, quantities, axes)
    except ValueError as error:
        yield _finding(path, error)
        return
    yield from _find_where_problems(path, compared, axes)
    if compared.axis or compared.by:
        yield Finding(path, "it is the value of one point", "leave out 'over' and 'by'; 'where' selects the point")
    if line.published or line.at is not None:
        yield Finding(path, "it stands instead of a published value", "leave out 'published' and 'at'")
    if line.what not in ALONE:
        yield Finding(path, f"{line.what!r} takes no such value", f"'what' one of {', '.join(ALONE)}")


def _find_published_problems(
    number: int,
    line: Agreement,
    compared: ComparedResponse,
    quantity: type[Quantity],
    *,
    axes: Mapping[str, Sequence[Any]],
    table: PublishedTable,
) -> Iterator[Finding]:
    path: DataPath = ("agreement", number, "published")
    if not line.published:
        if not line.against and (line.within or line.what not in ALONE):
            yield Finding(path, "it names no published series", did_you_mean("", table.names()))
        return
    single = line.what == "value" and line.at is None
    names = list(series_names(line, compared.by, axes.get(compared.by, ())).values())
    # Of a 'by' axis some values may have been published and others not.
    for name in [name for name in names if table.series(name)] or names[:1]:
        found = [one for one in table.series(name) if bool(one.x) != single]
        if not table.series(name):
            yield Finding(path, f"there is no published series {name!r}", did_you_mean(name, table.names()))
        elif not found:
            what, hint = (
                ("has an x for each value", "say which: at") if single else ("is a single value", "what: value")
            )
            yield Finding(path, f"{name!r} {what}", hint)
        elif line.at is not None and line.at not in {one.x for one in found}:
            hint = did_you_mean(line.at, [one.x for one in found])
            yield Finding((*path[:2], "at"), f"{name!r} has no value at {line.at!r}", hint)
        if line.what in WITH_UNIT:
            wrong = [one for one in found if not one.has_unit(quantity)]
            if wrong:
                what = f"line {wrong[0].line} of the published values has the unit {wrong[0].unit!r}"
                yield Finding(path, what, f"{compared.response} is a {quantity.NOUN}, like {quantity.EXAMPLE!r}")
        if compared.axis and line.what != "order":
            line_of_axis = read_number_line(axes[compared.axis])
            wrong_x = [one.x for one in found if line_of_axis is None or not _can_read(line_of_axis.read, one.x)]
            if wrong_x:
                what = f"{wrong_x[0]!r} of {name!r} has no place on the axis {compared.axis}"
                yield Finding(path, what, "numbers or quantities of one kind")
    if line.original:
        yield from _find_original_problems((*path[:2], "original"), line, quantity, table)


def _find_original_problems(
    path: DataPath, line: Agreement, quantity: type[Quantity], table: PublishedTable
) -> Iterator[Finding]:
    if len(line.original) == 1:
        (name,) = line.original
        if not [one for one in table.series(name) if not one.x and one.has_unit(Share)]:
            yield Finding(path, f"there is no single published share {name!r}", did_you_mean(name, table.names()))
        return
    if len(line.original) > 2:
        yield Finding(path, f"{len(line.original)} series have no error", "one share, or two series")
        return
    found = [{one.x for one in table.series(name) if one.x and one.has_unit(quantity)} for name in line.original]
    for name, xs in zip(line.original, found, strict=True):
        if not xs:
            what = f"there is no published series {name!r} of a {quantity.NOUN}"
            yield Finding(path, what, did_you_mean(name, table.names()))
    if all(found) and not (found[0] & found[1] & ({line.at} if line.at else found[0])):
        yield Finding(path, "the two series have no such x in common", "values at the same x")


def _can_read(read: Any, value: str) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True
