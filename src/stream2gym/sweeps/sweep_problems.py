"""What is wrong in a sweep file, whatever its experiment is. Pure: a file in, findings out."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.judge.compare import parse_metric
from stream2gym.kinds.metrics import Number
from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean
from stream2gym.sweeps.axis_values import ValueRange, read_number_line
from stream2gym.sweeps.shape_grammar import parse_shape
from stream2gym.sweeps.sweep_file import (
    FIRST_COLUMNS,
    LAST_COLUMNS,
    AxisSettings,
    Response,
    SweepFile,
    find_quantity,
)

# Metrics of what a gym takes of the machine.
_OF_MACHINE = ("cpu", "memory", "startup", "first_receipt")


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
            yield from _find_about_problems(number, response)
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


def _find_about_problems(number: int, response: Response) -> Iterator[Finding]:
    """A slow machine has a part in every other figure, and its bounds must be known."""
    metric = parse_metric(response.metric)
    is_of_machine = metric.metric in _OF_MACHINE or metric.filters.get("source") == "memory"
    if response.about == "machine" and not is_of_machine:
        what = f"{metric.metric} is not about the machine"
        hint = f"only {', '.join(_OF_MACHINE)} and sample(source=memory) are"
        yield Finding(("responses", number, "about"), what, hint)


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
