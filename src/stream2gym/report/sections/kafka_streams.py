"""The Kafka Streams section: for every instance of an application its rows, partitions, commits and lag."""

from __future__ import annotations

from collections.abc import Iterable

from stream2gym.analysis.result_tables import SeriesPoint
from stream2gym.figures.figure import Axis, Column, Table
from stream2gym.report.engine_samples import ObjectSamples, make_charts, make_lines, pick_source
from stream2gym.report.facts import Facts
from stream2gym.report.page import Section

SOURCE = "kafka-streams "
_COLUMNS = (
    Column("instance"), Column("rows", ""), Column("rows/s, mean", "/s"), Column("sent", ""), Column("commits", ""),
    Column("time of a commit, mean", "s"), Column("most partitions", ""), Column("last", ""),
    Column("most behind", ""), Column("threads that failed", "", alarm=True), Column("rows dropped", "", alarm=True),
    Column("state rows, last", "", quiet=True), Column("state, most", "B", quiet=True),
)  # fmt: skip


def make_kafka_streams_section(facts: Facts) -> Section | None:
    """The section. None in a run without Kafka Streams programs."""
    points = pick_source(facts, SOURCE)
    if not points:
        return None
    charts = make_charts(
        facts,
        (
            ("streams-rows", "Rows processed", Axis("rows", "/s"), make_lines(points, "rows_a_second")),
            ("streams-partitions", "Partitions that it held", Axis("partitions"), make_lines(points, "partitions")),
            ("streams-lag", "Messages behind, of the partition that is furthest behind", Axis("messages"),
             make_lines(points, "lag")),
            ("streams-state", "State", Axis("rows in state"), make_lines(points, "state_rows")),
        ),
    )  # fmt: skip
    return Section("kafka-streams", "Kafka Streams", (*charts, _make_table(points)))


def is_of_streams(point: SeriesPoint) -> bool:
    return point.object.startswith(SOURCE)


def _make_table(points: Iterable[SeriesPoint]) -> Table:
    samples = ObjectSamples(points)
    pick = samples.pick
    rows = tuple(
        (
            one, pick(one, "rows", "total"), pick(one, "rows_a_second", "mean"), pick(one, "sends", "total"),
            pick(one, "commits", "total"), pick(one, "commit_ms", "mean", 1e-3), pick(one, "partitions", "max"),
            pick(one, "partitions", "last"), pick(one, "lag", "max"), pick(one, "failed_threads", "max"),
            pick(one, "dropped_rows", "total"), pick(one, "state_rows", "last"), pick(one, "state_bytes", "max"),
        )
        for one in samples.objects()
    )  # fmt: skip
    note = "As Kafka's own metrics told it twice a second. What was sent includes changelogs and repartitioned rows."
    return Table("streams-instances", "Every instance", _COLUMNS, rows, note)
