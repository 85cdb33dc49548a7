"""The sweep file: a base experiment, axes over its settings, repeats, responses and expectations on their shapes.

``load_sweep`` reads and checks it. Every mistake is reported at once, with its place and what would be valid.
``check_points`` compares it with the experiment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from stream2gym.errors import BadInput, Mistake
from stream2gym.judge.compare import parse_metric
from stream2gym.kinds.metrics import Count, Number
from stream2gym.kinds.settings import Model, Name, Strings, Whole
from stream2gym.spec.findings import DataPath, Finding, Origins, brief, did_you_mean
from stream2gym.spec.readers.user_files import YAML_LIMIT, decode, read_bytes, shown_path
from stream2gym.spec.readers.yaml_documents import read_documents
from stream2gym.spec.validation_messages import findings_of
from stream2gym.sweeps.agreement_grammar import Agreement, find_agreement_problems
from stream2gym.sweeps.axis_values import FIGURE_UNITS, ValueRange, read_number_line, spread_values
from stream2gym.sweeps.published_values import PublishedTable, read_published
from stream2gym.sweeps.shape_grammar import ShapeExpectation, parse_shape
from stream2gym.units import Duration, Quantity, Share

# Columns of the table of responses before those of the axes, and after them. No axis may have their names.
FIRST_COLUMNS = ("point", "repeat", "seed")
LAST_COLUMNS = ("response", "item", "value", "low", "high", "state", "verdict", "reason", "run")
MOST_STEPS = 10_000
MOST_SAMPLES = 1_000_000
# The word for all values of an axis in a coarse pass.
ALL = "all"


def _list_all(value: Any, info: ValidationInfo) -> Any:
    """``quick: all`` as the values of the axis."""
    if value != ALL:
        return value
    if not info.data.get("values"):
        raise ValueError("only an axis with values has all of them; name the values of the coarse pass")
    return info.data["values"]


class AxisSettings(Model):
    """One axis: what it sets, and its values. A list is short for its ``values``."""

    SHORT = ({"type": "array"},)

    set_: Strings | None = Field(
        default=None,
        alias="set",
        description="dotted names as --set takes them, all set to one value; {AXIS} stands for a value of another "
        "axis; default: the name of the axis; an empty list sets nothing",
    )
    values: list[Any] | None = Field(default=None, description="the values, one by one")
    from_: Any = Field(default=None, alias="from", description="the lowest value of a range")
    to: Any = Field(default=None, description="the highest value of a range")
    steps: Annotated[Whole, Field(ge=2, le=MOST_STEPS)] | None = Field(
        default=None, description="number of values of a range, both ends included; not needed for samples"
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="how the values of a range are spread")
    quick: (
        Annotated[list[Any], BeforeValidator(_list_all, json_schema_input_type=list[Any] | Literal["all"])] | None
    ) = Field(
        default=None, description="the values of a coarse pass (--quick), or all; default: the ends and the middle"
    )

    @model_validator(mode="before")
    @classmethod
    def _widen(cls, value: Any) -> Any:
        return {"values": value} if isinstance(value, list) else value

    @property
    def range(self) -> ValueRange | None:
        return None if self.values is not None else ValueRange(self.from_, self.to, self.scale)

    def list_values(self) -> list[Any]:
        """The values of a grid; those of a range without ``steps`` are its ends."""
        if self.values is not None:
            return self.values
        assert self.range is not None, "an axis without values is a range"
        return spread_values(self.range, self.steps or 2)


class Sample(Model):
    """Points that are drawn instead of a grid."""

    by: Literal["random", "latin"] = Field(
        description="random: independent draws; latin: Latin hypercube, each axis is covered evenly"
    )
    points: Annotated[Whole, Field(ge=1, le=MOST_SAMPLES)] = Field(description="how many points are drawn")


class Response(Model):
    """One response: a metric as expectations write it, without the comparison."""

    SHORT = ({"type": "string"},)

    name: str = Field(default="", description="what tables, figures and expectations call it; default: its metric")
    metric: str = Field(description="metric[.stat][(filter=value, ...)], such as latency.p99(topic=in)")
    combine: Literal["each", "sum", "max", "min", "spread"] = Field(
        default="each",
        description="what is done with a metric of several things, such as links: each is a series of its own, "
        "or their sum, largest, smallest, or largest divided by smallest",
    )
    unit: str = Field(
        default="", description="the unit in which a program or a check states its numbers, such as ms or MiB"
    )

    @model_validator(mode="before")
    @classmethod
    def _widen(cls, value: Any) -> Any:
        return {"metric": value} if isinstance(value, str) else value

    @property
    def label(self) -> str:
        return self.name or self.metric

    @property
    def quantity(self) -> type[Quantity]:
        """What kind of quantity its values are."""
        if self.combine == "spread":
            return Count
        if self.unit:
            return find_quantity(self.unit)[0]
        return parse_metric(self.metric).definition.unit

    @property
    def scale(self) -> float:
        """What a stated number is multiplied with to be in the base unit."""
        return find_quantity(self.unit)[1] if self.unit else 1.0


def find_quantity(unit: str) -> tuple[type[Quantity], float]:
    """The kind of quantity that has a unit, and how many base units the unit is. Raises ValueError."""
    for quantity in FIGURE_UNITS:
        if unit in quantity.UNITS:
            return quantity, float(quantity.UNITS[unit])
    raise ValueError(f"{unit!r} is no unit; such as ms, MiB, Mbps, /s or %")


def _join_shape(value: Any) -> Any:
    """``- latency.mean over delay: increasing`` is a mapping to YAML; here it is one text."""
    if isinstance(value, dict) and len(value) == 1:
        ((left, right),) = value.items()
        return f"{left}: {right}"
    return value


def _group_zips(value: Any) -> Any:
    """One group may be written without its outer list."""
    is_group = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    return [value] if is_group else value


class SweepFile(Model):
    """A sweep as its file describes it."""

    sweep: Literal[1] = Field(default=1, description="format version, always 1")
    name: Name = Field(default="sweep", description="name of the sweep; its folder is called after it")
    experiment: str = Field(default="", description="the base: a path relative to this file, or a bundled example")
    set_: dict[str, Any] = Field(default_factory=dict, alias="set", description="settings of every point, as --set")
    warmup: Duration | None = Field(
        default=None, description="the warm-up of every point; short for set: {warmup: 10 s}"
    )
    axes: dict[str, AxisSettings] = Field(default_factory=dict, description="what varies, by the name of the axis")
    zip_: Annotated[list[list[str]], BeforeValidator(_group_zips)] = Field(
        default_factory=list, alias="zip", description="groups of axes that take their values together, one by one"
    )
    without: list[dict[str, Any]] = Field(
        default_factory=list,
        description="combinations of axis values that are no points, such as {acks: 0, brokers: 3}",
    )
    sample: Sample | None = Field(default=None, description="draw points instead of taking every combination")
    repeats: Annotated[Whole, Field(ge=1, le=10_000)] = Field(default=1, description="runs of every point")
    seed: Whole = Field(default=1, description="seed of order and samples; repeat N runs with seed + N - 1")
    responses: list[Response] = Field(default_factory=list, description="what is measured at every point")
    expect: list[Annotated[str, BeforeValidator(_join_shape, json_schema_input_type=str | dict[str, str])]] = Field(
        default_factory=list, description="shapes, such as 'latency.mean over delay: linear(r2 > 0.98)'"
    )
    published: str = Field(default="", description="a CSV file with published values; a path relative to this file")
    agreement: list[Agreement] = Field(
        default_factory=list, description="which quantities are compared with which published values"
    )
    interval: Share = Field(
        default=Share(0.1),
        description="a value whose bounds are farther apart than this share of it is unknown to shapes",
    )

    def fixed_settings(self) -> dict[str, Any]:
        """What every point sets, by dotted names."""
        return self.set_ if self.warmup is None else {**self.set_, "warmup": str(self.warmup)}

    def shapes(self) -> list[ShapeExpectation]:
        """The expectations on shapes, parsed. They were checked when the file was loaded."""
        return [parse_shape(text, self.response_names(), self.axes) for text in self.expect]

    def moving_with(self, axis: str) -> frozenset[str]:
        """The axes that are zipped with this one: they change whenever it does."""
        return frozenset(name for group in self.zip_ if axis in group for name in group if name != axis)

    def is_left_out(self, values: Mapping[str, Any]) -> bool:
        """Whether these values of axes are among the combinations that are no points."""
        return any(
            all(str(values.get(name)) == str(value) for name, value in combination.items())
            for combination in self.without
        )

    def response_names(self) -> list[str]:
        return [response.label for response in self.responses]


@dataclass(frozen=True)
class LoadedSweep:
    """A checked sweep file. The path of its experiment is relative to ``base``."""

    file: SweepFile
    base: Path
    path: Path | None = None
    origins: Origins = field(default_factory=Origins)
    data: Any = None
    published: PublishedTable = field(default_factory=PublishedTable)

    def mistake(self, path: DataPath, what: str, hint: str = "") -> Mistake:
        """A mistake at a place of the file."""
        return self.origins.mistake(Finding(path, what, hint), self.data)

    @property
    def experiment(self) -> str:
        """The base as a command line takes it: the name of an example, or a path."""
        word = self.file.experiment
        return str(self.base / word) if "/" in word or Path(word).suffix else word


def load_sweep(path: Path, cwd: Path | None = None) -> LoadedSweep:
    """Read and check a sweep file. BadInput lists every mistake."""
    cwd = (cwd or Path.cwd()).absolute()
    path = cwd / path
    shown = shown_path(path, cwd)
    documents, mistakes = read_documents(decode(read_bytes(path, YAML_LIMIT, shown), shown), shown)
    if not documents or not isinstance(documents[0].data, dict):
        raise BadInput([*mistakes, Mistake("", "is not a sweep", "begin with 'sweep: 1'", shown)])
    data = {key: value for key, value in documents[0].data.items() if value is not None}
    if "sweep" not in data:
        hint = "this is an experiment: s2g run FILE" if "s2g" in data else "begin with 'sweep: 1'"
        mistakes.append(Mistake("sweep", "the format version is missing", hint, shown, 1))
        data.pop("s2g", None)
    return check_sweep(data, path.parent, path, documents[0].origins, mistakes)


def check_sweep(
    data: Mapping[str, Any],
    base: Path,
    path: Path | None = None,
    origins: Origins | None = None,
    mistakes: Sequence[Mistake] = (),
) -> LoadedSweep:
    """Check the data of a sweep file. BadInput lists its mistakes after those that are given."""
    where = origins or Origins()
    try:
        file = SweepFile.model_validate(data)
    except ValidationError as error:
        found = [where.mistake(finding, data) for finding in findings_of(error, SweepFile, data)]
        raise BadInput([*mistakes, *found]) from None
    found = [*mistakes, *(where.mistake(finding, data) for finding in find_sweep_problems(file))]
    table, unread = _read_published_file(file, base, where, data)
    found += unread
    if not found:
        axes = {name: axis.list_values() for name, axis in file.axes.items()}
        quantities = {response.label: response.quantity for response in file.responses}
        problems = find_agreement_problems(file.agreement, quantities, axes, table)
        found += [where.mistake(finding, data) for finding in problems]
    if found:
        raise BadInput(found)
    return LoadedSweep(file, base, path, where, data, table)


def _read_published_file(
    file: SweepFile, base: Path, origins: Origins, data: Any
) -> tuple[PublishedTable, list[Mistake]]:
    """The published values that the file names, and what is wrong with them."""
    if not file.published:
        return PublishedTable(), []
    try:
        path = base / file.published
        return read_published(path, shown_path(path, Path.cwd())), []
    except BadInput as error:
        place = origins.mistake(Finding(("published",), ""), data)
        lacks_file = [one for one in error.mistakes if not one.line]
        found = [replace(place, what=f"{file.published}: {one.what}", hint=one.hint) for one in lacks_file]
        return PublishedTable(), [*found, *(one for one in error.mistakes if one.line)]


def find_sweep_problems(file: SweepFile) -> Iterator[Finding]:
    """What is wrong in a sweep file, whatever its experiment is."""
    if not file.experiment:
        yield Finding(("experiment",), "experiment is missing", "a path, or the name of a bundled example")
    if not file.axes:
        yield Finding(("axes",), "the grid is empty: nothing varies", "axes: {producers.gen.rate: [10/s, 100/s]}")
    if not file.responses:
        yield Finding(("responses",), "nothing is measured", "responses: [latency.mean]")
    axes_are_sound = True
    for name, axis in file.axes.items():
        for finding in _find_axis_problems(file, name, axis):
            axes_are_sound = False
            yield finding
    yield from _find_double_settings(file)
    yield from _find_combination_problems(file)
    yield from _find_left_out_problems(file)
    yield from _find_response_problems(file)
    if axes_are_sound:
        yield from _find_shape_problems(file)


def _find_axis_problems(file: SweepFile, name: str, axis: AxisSettings) -> Iterator[Finding]:
    path: DataPath = ("axes", name)
    if axis.quick is not None and not axis.quick:
        yield Finding((*path, "quick"), "the coarse pass has no values", "leave it out for the ends and the middle")
    if name in (*FIRST_COLUMNS, *LAST_COLUMNS):
        yield Finding(path, f"{name!r} is a column of the table of responses", "call the axis something else")
    for target in axis.set_ or ():
        for wanted in placeholders(target):
            if wanted not in file.axes or wanted == name:
                hint = did_you_mean(wanted, [other for other in file.axes if other != name])
                yield Finding((*path, "set"), f"{{{wanted}}} names no other axis", hint)
    has_range = axis.from_ is not None or axis.to is not None
    if axis.values is not None:
        if has_range or axis.steps is not None:
            yield Finding(path, "has values and a range", "either values, or from, to and steps")
        if not axis.values:
            yield Finding((*path, "values") if axis.set_ is not None else path, "the grid is empty: it has no values")
        others = [value for value in axis.quick or () if str(value) not in map(str, axis.values)]
        if others:
            hint = did_you_mean(others[0], map(str, axis.values))
            yield Finding((*path, "quick"), f"{brief(others[0])} is not one of its values", hint)
        wrong = [value for value in axis.values if isinstance(value, dict) or value is None]
        if wrong:
            yield Finding(path, f"{brief(wrong[0])} is not a value", "a number or a text, as --set takes it")
        told = [str(value) for value in axis.values]
        twice = sorted({value for value in told if told.count(value) > 1})
        # Axes that are zipped may repeat a value: their points differ in another axis.
        if twice and not any(name in group for group in file.zip_):
            yield Finding(path, f"{', '.join(twice)} is given twice", "repeats: 2 runs every point twice")
        return
    if axis.from_ is None or axis.to is None:
        yield Finding(path, "the grid is empty: it has neither values nor a range", "values: [...], or from and to")
        return
    problem = ValueRange(axis.from_, axis.to, axis.scale).problem()
    if problem:
        yield Finding(path, problem, "from: 1 ms, to: 100 ms")
    if axis.steps is None and file.sample is None:
        yield Finding(path, "a range in a grid needs the number of its steps", "steps: 5")


def _find_double_settings(file: SweepFile) -> Iterator[Finding]:
    """Settings that two axes, or an axis and ``set``, would set: only one of them would have an effect."""
    owners = dict.fromkeys(file.set_, "set")
    if file.warmup is not None and "warmup" in owners:
        yield Finding(("warmup",), "warmup is also set by set", "keep one")
    elif file.warmup is not None:
        owners["warmup"] = "the key warmup"
    for name, axis in file.axes.items():
        for target in [name] if axis.set_ is None else axis.set_:
            if target in owners:
                yield Finding(("axes", name), f"{target} is also set by {owners[target]}", "keep one")
            owners[target] = f"the axis {name}"


def placeholders(target: str) -> list[str]:
    """The axes whose values stand in a dotted name: ``topology.links.{link} -- s1.latency`` has ``link``."""
    return [part.partition("}")[0] for part in target.split("{")[1:] if "}" in part]


def _find_combination_problems(file: SweepFile) -> Iterator[Finding]:
    if file.zip_ and file.sample is not None:
        yield Finding(("zip",), "samples draw every axis on its own", "either zip or sample")
    seen: set[str] = set()
    for group in file.zip_:
        for name in group:
            if name not in file.axes:
                yield Finding(("zip",), f"there is no axis {name!r}", did_you_mean(name, file.axes))
            elif name in seen:
                yield Finding(("zip",), f"{name} is in two groups, or twice in one")
            seen.add(name)
        known = {name: file.axes[name] for name in group if name in file.axes}
        quick = {name: len(axis.quick) for name, axis in known.items() if axis.quick is not None}
        if quick and (len(quick) < len(known) or len(set(quick.values())) > 1):
            yield Finding(("zip",), "axes that are zipped need as many values of a coarse pass each", "quick: [...]")
        counts = {name: _count_values(axis) for name, axis in known.items()}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{name} has {count}" for name, count in counts.items())
            yield Finding(("zip",), f"axes that are zipped need as many values each: {told}")


def _find_left_out_problems(file: SweepFile) -> Iterator[Finding]:
    if file.without and file.sample is not None:
        yield Finding(("without",), "samples draw every axis on its own", "either without or sample")
    for number, combination in enumerate(file.without):
        path: DataPath = ("without", number)
        if not combination:
            yield Finding(path, "names no value, so that nothing would be left", "{AXIS: VALUE, AXIS: VALUE}")
        for name, value in combination.items():
            if name not in file.axes:
                yield Finding(path, f"there is no axis {name!r}", did_you_mean(name, file.axes))
            elif file.axes[name].values is not None and str(value) not in map(str, file.axes[name].list_values()):
                hint = did_you_mean(value, map(str, file.axes[name].list_values()))
                yield Finding(path, f"{name} never is {value!r}", hint)


def _count_values(axis: AxisSettings) -> int:
    if axis.values is not None:
        return len(axis.values)
    return 0 if ValueRange(axis.from_, axis.to, axis.scale).problem() else len(axis.list_values())


def _find_response_problems(file: SweepFile) -> Iterator[Finding]:
    names = file.response_names()
    for number, response in enumerate(file.responses):
        try:
            parse_metric(response.metric)
        except ValueError as error:
            what, _, hint = str(error).partition("; ")
            yield Finding(("responses", number), what, hint)
        else:
            yield from _find_unit_problems(number, response)
        if names.index(response.label) < number:
            yield Finding(("responses", number), f"{response.label} is measured twice", "give one of them a name")


def _find_unit_problems(number: int, response: Response) -> Iterator[Finding]:
    """A unit is for numbers of which only the program that stated them knows the unit."""
    path: DataPath = ("responses", number, "unit")
    if not response.unit:
        return
    definition = parse_metric(response.metric).definition
    if definition.unit is not Number:
        yield Finding(path, f"{definition.name} has a unit of its own", "only sample and result take one")
        return
    try:
        find_quantity(response.unit)
    except ValueError as error:
        what, _, hint = str(error).partition("; ")
        yield Finding(path, what, hint)


def _find_shape_problems(file: SweepFile) -> Iterator[Finding]:
    for number, text in enumerate(file.expect):
        path: DataPath = ("expect", number)
        try:
            shape = parse_shape(text, file.response_names(), file.axes)
        except ValueError as error:
            what, _, hint = str(error).partition("; ")
            yield Finding(path, what, hint)
            continue
        if file.sample is not None and len(file.axes) > 1:
            yield Finding(path, "samples vary every axis at once: no two points differ in one axis alone", "a grid")
            continue
        axis = file.axes[shape.axis]
        ends = [axis.from_, axis.to] if axis.values is None else axis.values
        line = read_number_line(ends)
        if line is None:
            told = ", ".join(map(str, ends[:5]))
            yield Finding(path, f"the values of {shape.axis} ({told}) are no numbers or quantities of one kind")
            continue
        if shape.after is not None:
            try:
                line.read(shape.after)
            except ValueError as error:
                yield Finding(path, f"{shape.after!r} is no value of {shape.axis}: {error}")
        for other, wanted in shape.where.items():
            values = file.axes[other].values
            if values is not None and wanted not in map(str, values):
                yield Finding(path, f"{other} never is {wanted!r}", did_you_mean(wanted, map(str, values)))
