"""The leadership section: who led which partition for how long, and every change of the cluster."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from stream2gym.analysis.result_tables import Analysis, Change, LeaderSpan
from stream2gym.figures.figure import Axis, Bars, BarSeries, Chart, Column, Lane, Mark, Span, Table, Timeline, Tone
from stream2gym.figures.number_text import MOMENT
from stream2gym.figures.time_charts import LAG
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import make_sample_series, pick_busiest

_MOST_LANES = 24
_GROUP = "kafka group "
# The metric, what the figure calls it, and the meaning of its colour.
_SICK_PARTITIONS: tuple[tuple[str, str, Tone], ...] = (
    ("under_replicated", "under-replicated", "warn"),
    ("leaderless", "without a leader", "bad"),
)
_MOST_TOPICS = 7
_WHAT = {"leader": "leader", "isr": "in-sync set", "controller": "controller", "rebalance": "members of group"}


def make_leadership_section(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not analysis.leaders:
        return Section("leadership", "Leadership", (missing("Nobody watched who led the topics."),))
    names = facts.node_names
    parts: list[Part] = [_make_bars(analysis, names)]
    parts.append(_make_timeline(analysis, names))
    parts += _make_cluster_charts(facts, analysis)
    if analysis.changes:
        parts.append(_make_change_table(analysis, names))
    return Section("leadership", "Leadership", tuple(parts))


def _make_bars(analysis: Analysis, names: dict[int, str]) -> Bars:
    """The partitions that each broker led. A partition that it led half of the time counts as a half."""
    seconds: dict[tuple[int, str], float] = defaultdict(float)
    for span in analysis.leaders:
        seconds[span.leader, span.topic] += span.to_s - span.from_s
    whole = max((span.to_s for span in analysis.leaders), default=0.0)
    whole -= min((span.from_s for span in analysis.leaders), default=0.0)
    # A broker that led nothing is shown, too.
    leaders = sorted(
        {leader for leader, _ in seconds} | (names.keys() - {-1}), key=lambda number: (number < 0, number)
    )
    totals: dict[str, float] = defaultdict(float)
    for (_, topic), value in seconds.items():
        totals[topic] += value
    topics = sorted(totals, key=lambda topic: (-totals[topic], topic))
    # Of very many topics a few in colours would tell nothing.
    shown = topics[:_MOST_TOPICS] if len(topics) <= _MOST_LANES else []
    others = topics[len(shown) :]

    def led(leader: int, topics: list[str]) -> float:
        return sum(seconds.get((leader, topic), 0.0) for topic in topics) / (whole or 1.0)

    series = [BarSeries(topic, tuple(led(leader, [topic]) for leader in leaders)) for topic in shown]
    if others:
        name = f"{len(others)} other topics" if shown else f"{len(others)} topics"
        series.append(BarSeries(name, tuple(led(leader, others) for leader in leaders)))
    brokers = tuple(_name_leader(leader, names) for leader in leaders)
    title = "Partitions led, weighted by time"
    partitions = len({(span.topic, span.partition) for span in analysis.leaders})
    count = len(names) - 1
    note = ""
    marks: tuple[Mark, ...] = ()
    if 1 < count <= partitions:
        even = partitions / count
        note = f"{partitions} partitions over {count} brokers: {even:.3g} each if all led alike."
        marks = (Mark(even, f"{even:.3g} if all led alike"),)
    return Bars("leadership", title, Axis("partitions"), brokers, tuple(series), True, "broker", note, marks=marks)


def _make_timeline(analysis: Analysis, names: dict[int, str]) -> Timeline:
    """One lane for each partition. Of many partitions those that changed their leader most often are drawn."""
    lanes: dict[str, list[LeaderSpan]] = defaultdict(list)
    for span in analysis.leaders:
        lanes[f"{span.topic}/{span.partition}"].append(span)
    kept = sorted(lanes, key=lambda name: -len(lanes[name]))[:_MOST_LANES]
    note = (
        f"The {_MOST_LANES} of {len(lanes)} partitions that changed their leader most often."
        if len(lanes) > len(names)
        else ""
    )
    chosen = tuple(
        Lane(name, tuple(_make_span(span, names) for span in sorted(lanes[name], key=lambda span: span.from_s)))
        for name in lanes
        if name in kept
    )
    return Timeline("leaders", "Leaders over time", chosen, note=note)


def _make_cluster_charts(facts: Facts, analysis: Analysis) -> list[Part]:
    """Partitions in danger, if there were any, and how far each group was behind what it had committed."""
    parts: list[Part] = []
    sick = [
        replace(series, name=name, shape="step", tone=tone)
        for metric, name, tone in _SICK_PARTITIONS
        for series in make_sample_series(analysis.gauges, metric)
        if any(series.y)
    ]
    if sick:
        title = "Partitions without all their replicas in sync, or without a leader"
        axis = Axis("partitions", low=0.0)
        parts.append(Chart("under-replicated", title, facts.time, axis, tuple(sick), facts.fault_bands))
    gauges = [point for point in analysis.gauges if point.object.startswith(_GROUP)]
    series, note = pick_busiest(make_sample_series(gauges, "lag"))
    if any(any(one.y) for one in series):
        named = tuple(replace(one, name=one.name.removeprefix(_GROUP)) for one in series)
        note = f"By the offsets that groups have committed. {note}".rstrip()
        parts.append(replace(LAG, x=facts.time, series=named, bands=facts.fault_bands, note=note))
    return parts


def _name_leader(leader: int, names: dict[int, str]) -> str:
    return names.get(leader, f"broker {leader}")


def _make_span(span: LeaderSpan, names: dict[int, str]) -> Span:
    return Span(span.from_s, span.to_s, _name_leader(span.leader, names), "phase" if span.leader >= 0 else "bad")


def _make_change_table(analysis: Analysis, names: dict[int, str]) -> Table:
    columns = (Column("at", MOMENT), Column("what"), Column("of"), Column("before"), Column("after"))
    rows = tuple(
        (c.at_s, _WHAT[c.what], c.object, *_describe_change(c, names))
        for c in sorted(analysis.changes, key=lambda c: c.at_s)
    )
    return Table("changes", "Changes", columns, rows, "Leaders, in-sync sets, controller, members of groups.")


def _describe_change(change: Change, names: dict[int, str]) -> tuple[str, str]:
    """What was before and after a change: brokers by name, in-sync replicas by number."""
    if change.what in ("leader", "controller"):
        return _name_leader(int(change.before), names), _name_leader(int(change.after), names)
    if change.what == "isr":
        return f"{change.before:g} replicas", f"{change.after:g} replicas"
    return "", ""
