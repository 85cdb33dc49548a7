"""The Spark section: for every streaming query the rates of rows in and processed, the time of batches, the state and
the watermark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from stream2gym.analysis.result_tables import SeriesPoint
from stream2gym.figures.figure import Axis, Column, Series, Table
from stream2gym.report.blocks import paragraph
from stream2gym.report.engine_samples import ObjectSamples, make_charts, make_lines, pick_source
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import pick_busiest

SOURCE = "spark "
_BATCHES = frozenset(("batch_id", "rows", "rows_a_second", "batch_ms"))
_MOST_QUERIES = 4  # each has two lines in the figure of rates
# Event times of recorded data may lie years back. Then the distance to the clock says nothing.
_LIVE_S = 86_400.0
_COLUMNS = (
    Column("query"), Column("batches", ""), Column("rows", ""), Column("rows/s in", "/s"),
    Column("rows/s processed", "/s"), Column("batch time, mean", "s"), Column("p99", "s"), Column("longest", "s"),
    Column("state rows, last", "", quiet=True), Column("state, most", "B", quiet=True),
    Column("late rows dropped", "", alarm=True, quiet=True), Column("rows out", "", quiet=True),
)  # fmt: skip


def make_spark_section(facts: Facts) -> Section | None:
    """The section. None in a run without streaming queries."""
    points = pick_source(facts, SOURCE)
    if not points:
        return None
    parts: list[Part] = []
    behind = find_laggards(points)
    if behind:
        who = "it" if len(behind) == 1 else "they"
        words = f"{', '.join(behind)} processed rows more slowly than they came: {who} could not keep up."
        parts.append(paragraph(words, "caution"))
    parts += make_charts(
        facts,
        (
            ("spark-rates", "Rows in and rows processed", Axis("rows", "/s"), _make_rates(points)),
            ("spark-batches", "Batch time", Axis("time of a batch", "s"),
             _scale(make_lines(points, "batch_ms"), 1e-3)),
            ("spark-state", "State", Axis("rows in state"), make_lines(points, "state_rows")),
            ("spark-watermark", *_make_watermark(points, facts.info.get("t0_wall"))),
        ),
    )  # fmt: skip
    parts.append(_make_table(points))
    return Section("spark", "Spark", tuple(parts))


def is_of_spark(point: SeriesPoint) -> bool:
    return point.object.startswith(SOURCE)


def find_laggards(points: Iterable[SeriesPoint]) -> list[str]:
    """The queries that processed rows more slowly than rows came, in most of their batches with rows."""
    rates: dict[str, dict[float, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for point in points:
        if point.metric in ("rows_a_second", "processed_a_second"):
            rates[point.object][point.at_s][point.metric] = point.value
    found = []
    for query, batches in rates.items():
        busy = [batch for batch in batches.values() if batch.get("rows_a_second", 0) > 0 and len(batch) == 2]
        behind = [batch for batch in busy if batch["processed_a_second"] < batch["rows_a_second"]]
        if len(busy) >= 3 and len(behind) > len(busy) / 2:
            found.append(query)
    return found


def _scale(series: list[Series], factor: float) -> list[Series]:
    return [replace(one, y=tuple(None if y is None else y * factor for y in one.y)) for one in series]


def _make_rates(points: Iterable[SeriesPoint]) -> list[Series]:
    """Two lines for each query: the rows that came in, and those that it could process."""
    points = list(points)
    taken, _ = pick_busiest(make_lines(points, "rows_a_second"), _MOST_QUERIES)
    kept = {one.name for one in taken}
    found = []
    for metric, word in (("rows_a_second", "in"), ("processed_a_second", "processed")):
        found += [replace(one, name=f"{one.name}: {word}") for one in make_lines(points, metric) if one.name in kept]
    return sorted(found, key=lambda one: one.name)


def _make_watermark(points: Iterable[SeriesPoint], t0_wall: object) -> tuple[str, Axis, list[Series]]:
    """How far the watermark is behind the clock or, of recorded data, how far it has come."""
    series = make_lines(points, "watermark_s")
    start_s = _read_wall(t0_wall)
    if start_s is not None:
        behind = [
            replace(one, y=tuple(None if y is None else start_s + x - y for x, y in zip(one.x, one.y, strict=True)))
            for one in series
        ]
        if all(y is None or abs(y) < _LIVE_S for one in behind for y in one.y):
            return "Watermark behind the clock", Axis("behind", "s"), behind
    passed = [replace(one, y=tuple(None if y is None else y - (one.y[0] or 0.0) for y in one.y)) for one in series]
    return "Event time that the watermark passed", Axis("event time", "s"), passed


def _read_wall(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def _make_table(points: Iterable[SeriesPoint]) -> Table:
    samples = ObjectSamples(points)
    pick = samples.pick
    rows = tuple(
        (
            query, samples.count(query, "batch_id"), pick(query, "rows", "total"),
            pick(query, "rows_a_second", "mean"), pick(query, "processed_a_second", "mean"),
            pick(query, "batch_ms", "mean", 1e-3), pick(query, "batch_ms", "p99", 1e-3),
            pick(query, "batch_ms", "max", 1e-3), pick(query, "state_rows", "last"),
            pick(query, "state_bytes", "max"), pick(query, "late_rows", "total"), pick(query, "rows_out", "total"),
        )
        for query in samples.objects()
        # Other objects are engines, whose own numbers have no batches.
        if any(samples.count(query, metric) for metric in _BATCHES)
    )  # fmt: skip
    note = "As Spark reported it for each batch. Late rows are those that came after the watermark and were dropped."
    return Table("spark-queries", "Every query", _COLUMNS, rows, note)
