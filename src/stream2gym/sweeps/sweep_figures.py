"""The figures of a sweep: every response over every axis, repeats as intervals, values in doubt drawn as such. Pure.

A dot is the mean of the repeats of a point whose values are usable, its bar the interval of that mean. A hollow
circle is one run whose value has bounds that are too far apart; it is part of no mean, and has the colour of its
series where there are several. A dashed vertical line marks an axis value at which a run has no value at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stream2gym.figures.figure import Axis, Chart, Mark, Series, Shape
from stream2gym.sweeps.agreement_grammar import ITEM, Agreement, parse_compared, series_names
from stream2gym.sweeps.axis_values import read_number_line
from stream2gym.sweeps.published_values import KINDS, PublishedTable
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.shape_judgement import Series as ResponseSeries
from stream2gym.sweeps.shape_judgement import fit_series, make_series
from stream2gym.sweeps.sweep_file import Response, SweepFile
from stream2gym.sweeps.sweep_plan import describe_values
from stream2gym.sweeps.sweep_verdict import find_unit

MOST_SERIES = 6
MOST_CHARTS = 24
MOST_PUBLISHED = 6
# From this ratio of the largest value to the smallest on, a linear axis would hide the small ones.
LOG_FROM = 30.0
_MARGIN = 0.04


def make_charts(file: SweepFile, rows: Sequence[ResponseRow], published: PublishedTable | None = None) -> list[Chart]:
    """One chart for each response and axis, ``MOST_CHARTS`` at most. An axis with one value has none.

    Published values that the response is compared with over the axis are drawn, too.
    """
    charts = []
    for response in file.responses:
        own = [row for row in rows if row.response == response.label]
        for axis in file.axes:
            if len({str(row.axes[axis]) for row in own}) > 1:
                theirs = _make_published(file, response, axis, published or PublishedTable())
                chart = _make_chart(file, response, axis, own, with_fits=not theirs)
                chart = replace(chart, series=(*chart.series, *theirs))
                # A straight line is one on a linear axis only.
                charts.append(chart if _is_linear(file, response, axis) else choose_scale(chart))
    return charts[:MOST_CHARTS]


def choose_scale(chart: Chart) -> Chart:
    """The chart with a logarithmic axis where series or categories differ so much that a linear one would hide the
    small ones."""
    # A lower bound may be zero; its bar then ends at the foot of a logarithmic axis.
    values = [value for one in chart.series for value in (*one.y, *one.high) if value is not None]
    is_wide = bool(values) and min(values) > 0 and max(values) / min(values) >= LOG_FROM
    are_several = len(chart.series) > 1 or bool(chart.x.names)
    return replace(chart, y=replace(chart.y, scale="log")) if is_wide and are_several else chart


def _is_linear(file: SweepFile, response: Response, axis: str) -> bool:
    return any((one.response, one.axis, one.shape) == (response.label, axis, "linear") for one in file.shapes())


def select_compared(
    file: SweepFile, rows: Sequence[ResponseRow], published: PublishedTable
) -> dict[tuple[str, str], list[ResponseRow]]:
    """The rows that shapes and lines of agreement are about, by response and axis; other series are left out."""
    wanted: dict[tuple[str, str], list[tuple[str, Agreement | None, dict[str, str]]]] = {}
    for shape in file.shapes():
        wanted.setdefault((shape.response, shape.axis), []).append(("", None, shape.where))
    for line in file.agreement:
        of = parse_compared(line.of, file.response_names(), file.axes)
        if of.axis:
            wanted.setdefault((of.response, of.axis), []).append((of.by, line, of.where))

    def is_meant(row: ResponseRow, by: str, line: Agreement | None, where: dict[str, str]) -> bool:
        if (
            by
            and line is not None
            and not published.series(series_names(line, by, [row.axes[by]])[str(row.axes[by])])
        ):
            return False
        return all((row.item if name == ITEM else str(row.axes[name])) == value for name, value in where.items())

    return {
        key: [row for row in rows if row.response == key[0] and any(is_meant(row, *one) for one in lines)]
        for key, lines in wanted.items()
    }


def make_compared_charts(file: SweepFile, rows: Sequence[ResponseRow], published: PublishedTable) -> list[Chart]:
    """The charts of what shapes and lines of agreement are about, with the series that they name."""
    charts: list[Chart] = []
    for (name, axis), selected in select_compared(file, rows, published).items():
        drawn = make_charts(file, selected, published)
        charts += [chart for chart in drawn if chart.name == f"{name} over {axis}"]
    return charts


def _make_chart(
    file: SweepFile, response: Response, axis: str, rows: Sequence[ResponseRow], *, with_fits: bool = True
) -> Chart:
    line = read_number_line([row.axes[axis] for row in rows])
    if line is None:
        names = list(dict.fromkeys(str(row.axes[axis]) for row in rows))
        # Categories stand at 0, 1, 2 ... in the order in which points have them.
        placed = [_with_axis(row, axis, names.index(str(row.axes[axis]))) for row in rows]
        x = Axis(axis, low=-0.5, high=len(names) - 0.5, names=tuple(names))
        series = make_series(placed, axis, find_unit(response), file.moving_with(axis))
    else:
        x = _make_x_axis(axis, line.unit, line.numbers, file.axes[axis].scale)
        series = make_series(rows, axis, find_unit(response), file.moving_with(axis))
    is_scattered = file.sample is not None and len(file.axes) > 1
    drawn, note = _make_scatter(series) if is_scattered else _make_lines(series, line is not None)
    marks = _make_marks(series)
    has_fits = with_fits and line is not None and not is_scattered
    fits = _make_fits(file, response, axis, series) if has_fits else ()
    name = f"{response.label} over {axis}"
    return Chart(name, name, x, _make_y_axis(response), (*drawn, *fits), marks=marks, note=note)


def _make_y_axis(response: Response) -> Axis:
    """The axis of a response. Captions of axes have no unit where rates are counted, so that the label tells it."""
    unit = find_unit(response)
    return Axis(f"{response.label}, a second" if unit == "/s" else response.label, unit)


def _make_published(file: SweepFile, response: Response, axis: str, table: PublishedTable) -> list[Series]:
    """The published series that lines of agreement name, if they are in the unit of the response."""
    line = read_number_line(file.axes[axis].list_values())
    ours: dict[str, str] = {}  # the series of ours that each published one is compared with
    for wanted in file.agreement:
        of = parse_compared(wanted.of, file.response_names(), file.axes)
        if (of.response, of.axis) == (response.label, axis):
            values = file.axes[of.by].list_values() if of.by else ()
            for value, name in series_names(wanted, of.by, values).items():
                ours.setdefault(name, describe_values(of.where | ({of.by: value} if of.by else {})))
    drawn: list[Series] = []
    for name, beside in ours.items():
        values = [one for one in table.series(name) if one.x and one.has_unit(response.quantity)]
        if line is not None and values and len(drawn) < MOST_PUBLISHED:
            pairs = sorted((line.read(one.x), one.read_as(response.quantity)) for one in values)
            xs, ys = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
            drawn.append(Series(f"{KINDS[table.find_kind(name)]}: {name}", xs, ys, beside=beside))
    return drawn


def _with_axis(row: ResponseRow, axis: str, place: int) -> ResponseRow:
    return ResponseRow(**{**row.__dict__, "axes": row.axes | {axis: place}})


def _make_x_axis(axis: str, unit: str, numbers: Sequence[float], scale: str) -> Axis:
    low, high = min(numbers), max(numbers)
    if scale == "log" and low > 0:
        return Axis(axis, unit, "log")
    room = (high - low) * _MARGIN
    is_whole = not unit and all(float(number).is_integer() for number in numbers)
    return Axis(axis, unit, low=low - room, high=high + room, is_whole=is_whole)


def _make_lines(series: Sequence[ResponseSeries], has_numbers: bool) -> tuple[tuple[Series, ...], str]:
    """The means of every series, joined by lines where there is something between them: not between categories."""
    shown = series[:MOST_SERIES]
    shape: Shape = "marked" if has_numbers else "points"
    # An item that all series have tells none from another.
    has_items = len({one.item for one in series}) > 1
    named = [(one, one.name if has_items else describe_values(one.others)) for one in shown]
    lines = [(one, _make_line(one, name, shape)) for one, name in named]
    drawn = [line for _, line in lines if line.x]
    doubtful = [
        doubt if len(shown) == 1 else _give_colour(doubt, line)
        for one, line in lines
        for doubt in _make_doubtful([one])
    ]
    note = f"The first {MOST_SERIES} of {len(series)} series are drawn." if len(series) > len(shown) else ""
    return (*drawn, *doubtful), note


def _make_line(series: ResponseSeries, name: str, shape: Shape) -> Series:
    places = [place for place in series.places() if place.mean is not None]
    # The mean of values that cannot be negative is not, either, however few they are.
    least = min((0.0, *(float(row.low) for row in series.rows if row.is_bounded and row.low is not None)))
    return Series(
        name or ("mean of the repeats" if len(series.rows) > len(set(series.xs)) else "one run"),
        tuple(place.x for place in places),
        tuple(place.mean for place in places),
        shape,
        low=tuple(max(place.low, least) for place in places),
        high=tuple(place.high for place in places),
    )


def _make_scatter(series: Sequence[ResponseSeries]) -> tuple[tuple[Series, ...], str]:
    """All usable values of drawn points in one series: each point has other values of the other axes."""
    pairs = sorted(
        (x, float(row.value or 0.0))
        for one in series
        for x, row in zip(one.xs, one.rows, strict=True)
        if row.is_usable
    )
    drawn = Series("points", tuple(x for x, _ in pairs), tuple(y for _, y in pairs), "points")
    return (drawn, *_make_doubtful(series)), "Every point has values of its own on the other axes."


def _make_doubtful(series: Sequence[ResponseSeries]) -> list[Series]:
    """Runs with a value whose bounds are too far apart."""
    found = [
        (x, row)
        for one in series
        for x, row in zip(one.xs, one.rows, strict=True)
        if row.state == "wide" and row.value is not None
    ]
    if not found:
        return []
    return [
        Series(
            "in doubt, part of no mean",
            tuple(x for x, _ in found),
            tuple(row.value for _, row in found),
            "hollow",
            "warn",
            low=tuple(_finite(row.low, row.value) for _, row in found),
            high=tuple(_finite(row.high, row.value) for _, row in found),
        )
    ]


def _give_colour(doubtful: Series, line: Series) -> Series:
    """The values in doubt in the colour of the means of their series, or in one of their own where it has none."""
    if line.x:
        return replace(doubtful, tone="neutral", beside=line.name)
    return replace(doubtful, tone="neutral", name=f"{line.name}, {doubtful.name}")


def _finite(bound: float | None, value: float | None) -> float | None:
    """A bound as it can be drawn: without one, the bar ends at the value."""
    return value if bound is None or bound in (float("inf"), float("-inf")) else bound


def _make_marks(series: Sequence[ResponseSeries]) -> tuple[Mark, ...]:
    counts: dict[float, int] = {}
    for one in series:
        for x, row in zip(one.xs, one.rows, strict=True):
            if row.state in ("unknown", "failed"):
                counts[x] = counts.get(x, 0) + 1
    return tuple(Mark(x, f"{count} without a value", "warn") for x, count in sorted(counts.items()))


def _make_fits(
    file: SweepFile, response: Response, axis: str, series: Sequence[ResponseSeries]
) -> tuple[Series, ...]:
    """The straight lines of series that are expected to be linear."""
    if not _is_linear(file, response, axis):
        return ()
    lines = []
    for one in series[: MOST_SERIES // 2]:
        fit = fit_series(one)
        if fit is not None:
            ends = min(one.xs), max(one.xs)
            name = f"fit{f' of {one.name}' if one.name else ''}"
            lines.append(Series(name, ends, tuple(fit.intercept + fit.slope * x for x in ends)))
    return tuple(lines)
