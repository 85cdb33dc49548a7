"""The Kafka Streams section: for every instance of an application its rows, partitions, commits and lag."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from stream2gym.analysis.result_tables import SeriesPoint
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.figures.figure import Axis, Chart, Column, Series, Table
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import make_sample_series, pick_busiest

SOURCE = "kafka-streams "
_COLUMNS = (
    Column("instance"), Column("rows", ""), Column("rows/s, mean", "/s"), Column("sent", ""), Column("commits", ""),
    Column("time of a commit, mean", "s"), Column("most partitions", ""), Column("last", ""),
    Column("most behind", ""), Column("threads that failed", "", alarm=True), Column("rows dropped", "", alarm=True),
    Column("state rows, last", "", quiet=True), Column("state, most", "B", quiet=True),
)  # fmt: skip


def make_kafka_streams_section(facts: Facts) -> Section | None:
    """The section. None in a run without Kafka Streams programs."""
    points = [point for point in (facts.analysis.gauges if facts.analysis else ()) if is_of_streams(point)]
    if not points:
        return None
    points = [replace(point, object=point.object.removeprefix(SOURCE)) for point in points]
    parts: list[Part] = []
    for name, title, axis, series in (
        ("streams-rows", "Rows processed", Axis("rows", "/s"), _series(points, "rows_a_second")),
        ("streams-partitions", "Partitions that it held", Axis("partitions"), _series(points, "partitions")),
        ("streams-lag", "Messages behind, of the partition that is furthest behind", Axis("messages"),
         _series(points, "lag")),
        ("streams-state", "State", Axis("rows in state"), _series(points, "state_rows")),
    ):  # fmt: skip
        shown, note = pick_busiest(series)
        if shown:
            parts.append(Chart(name, title, facts.time, axis, shown, facts.fault_bands, note=note))
    parts.append(_make_table(points))
    return Section("kafka-streams", "Kafka Streams", tuple(parts))


def is_of_streams(point: SeriesPoint) -> bool:
    return point.object.startswith(SOURCE)


def _series(points: Iterable[SeriesPoint], metric: str) -> list[Series]:
    return [one for one in make_sample_series(points, metric) if len(one.x) > 1]


def _make_table(points: Iterable[SeriesPoint]) -> Table:
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for point in sorted(points, key=lambda point: point.at_s):
        values[point.object][point.metric].append(point.value)

    def pick(instance: str, metric: str, stat: str, factor: float = 1.0) -> float | None:
        found = compute_statistic(values[instance][metric], stat)
        return None if found is None else found * factor

    rows = tuple(
        (
            one, pick(one, "rows", "total"), pick(one, "rows_a_second", "mean"), pick(one, "sends", "total"),
            pick(one, "commits", "total"), pick(one, "commit_ms", "mean", 1e-3), pick(one, "partitions", "max"),
            pick(one, "partitions", "last"), pick(one, "lag", "max"), pick(one, "failed_threads", "max"),
            pick(one, "dropped_rows", "total"), pick(one, "state_rows", "last"), pick(one, "state_bytes", "max"),
        )
        for one in values
    )  # fmt: skip
    note = "As Kafka's own metrics told it twice a second. What was sent includes changelogs and repartitioned rows."
    return Table("streams-instances", "Every instance", _COLUMNS, rows, note)
