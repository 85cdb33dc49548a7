"""Meters of how fast and how well: latencies, flows, links, the cluster, the machine, the emulation."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from stream2gym.analysis.histogram import merge
from stream2gym.analysis.tables import Analysis, FlowPoint, SeriesPoint
from stream2gym.judge.measured import Events, Measured, Meter, matches, one
from stream2gym.judge.statistics import statistic
from stream2gym.kinds.expectations import Expectation


def _latency(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    names = {"from": "source", "to": "topic"}
    rows = [
        row
        for row in analysis.latency
        if row.kind == expectation.metric and matches(row, expectation.filters, **names)
    ]
    why = next(
        (row.why_unknown for row in analysis.traces if row.why_unknown), "no such message was seen to arrive"
    )
    return one(merge(row.histogram for row in rows).value(expectation.stat), why)


def _throughput(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    by_bytes = expectation.metric.endswith("_bytes")
    rows = [row for row in analysis.sent if matches(row, expectation.filters)]
    if not any(row.acknowledged for row in rows):
        silent = any(row.unconfirmed for row in rows)
        if rows and not silent:
            return Measured({"": 0.0})
        return Measured(
            why="acks 0: nobody acknowledged anything" if silent else "no recorded producer matches"
        )
    if expectation.stat == "mean":
        total = sum(row.acknowledged_bytes if by_bytes else row.acknowledged for row in rows)
        return one(total / analysis.load_s if analysis.load_s else None, "load took no time")
    if "partition" in expectation.filters:
        return Measured(why="throughput over time is kept by topic and producer, not by partition")
    return _flow(expectation, analysis, "acknowledged", by_bytes)


def _delivery_rate(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    if "partition" in expectation.filters:
        return Measured(why="receipts over time are kept by topic and consumer, not by partition")
    return _flow(expectation, analysis, "received", expectation.metric.endswith("_bytes"))


def _flow(expectation: Expectation, analysis: Analysis, kind: str, by_bytes: bool) -> Measured:
    names = {"producer": "client", "consumer": "client"}
    points: list[FlowPoint] = [
        point
        for point in analysis.flow
        if point.kind == kind and matches(point, expectation.filters, **names)
    ]
    if not points:
        return Measured(why="no such message was seen")
    step_s = analysis.step_s
    whole = max(1, int(analysis.load_s // step_s))
    sums = [0.0] * whole
    for point in points:
        step = round(point.at_s / step_s)
        if 0 <= step < whole:
            sums[step] += point.bytes if by_bytes else point.messages
    shortest = min(step_s, analysis.load_s) or step_s
    return one(statistic([total / shortest for total in sums], expectation.stat), "no whole second of load")


def _each(points: Iterable[SeriesPoint], stat: str) -> dict[str, float]:
    """A statistic of each object's values."""
    values: dict[str, list[float]] = {}
    for point in points:
        values.setdefault(point.object, []).append(point.value)
    return {
        name: value for name, numbers in values.items() if (value := statistic(numbers, stat)) is not None
    }


def _link_filters(expectation: Expectation, analysis: Analysis) -> list[Any]:
    plain = {k: v for k, v in expectation.filters.items() if k in ("link", "direction")}
    host, port = expectation.filters.get("host"), expectation.filters.get("port")
    return [
        row
        for row in analysis.links
        if matches(row, plain)
        and (host is None or fnmatchcase(row.source, host) or fnmatchcase(row.target, host))
        and (
            port is None
            or fnmatchcase(f"{row.source}:{row.source_port}", port)
            or fnmatchcase(f"{row.target}:{row.target_port}", port)
        )
    ]


def _links(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    rows = {f"{row.link} {row.direction}": row for row in _link_filters(expectation, analysis)}
    if expectation.metric == "link_use":
        rows = {name: row for name, row in rows.items() if row.bandwidth_bps}
    if not rows:
        return Measured(why="no such link was sampled")
    metric, stat = expectation.metric, expectation.stat
    if metric in ("link_drops", "link_loss"):
        cause = expectation.filters.get("cause", "*")
        drops = {n: sum(c for k, c in r.dropped.items() if fnmatchcase(k, cause)) for n, r in rows.items()}
        if metric == "link_drops":
            return Measured({"": float(sum(drops.values()))})
        return Measured({name: drops[name] / (row.entered_packets or 1) for name, row in rows.items()})
    if metric == "queue" and stat == "max":
        return Measured({name: float(row.queue_max_bytes) for name, row in rows.items()})
    wanted = "queue_bytes" if metric == "queue" else "bps"
    values = _each((p for p in analysis.link_series if p.object in rows and p.metric == wanted), stat)
    if metric == "link_use":
        values = {name: value / rows[name].bandwidth_bps for name, value in values.items()}
    return Measured(values, why="no such link was sampled")


def _resources(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    rows = {row.component: row for row in analysis.resources if matches(row, expectation.filters)}
    if expectation.metric == "memory" and expectation.stat == "max":
        return Measured(
            {name: row.memory_max_bytes for name, row in rows.items()}, why="no such component was sampled"
        )
    wanted = "cpu" if expectation.metric == "cpu" else "memory_bytes"
    points = (p for p in analysis.resource_series if p.object in rows and p.metric == wanted)
    return Measured(_each(points, expectation.stat), why="no such component was sampled")


def _lag(expectation: Expectation, analysis: Analysis, events: Events) -> Measured:
    """Samples are of groups; a consumer's is that of the groups in which it was given partitions."""
    wanted, consumer = expectation.filters.get("group", "*"), expectation.filters.get("consumer")
    joined = {
        str(event.get("group"))
        for event in events
        if event.get("event") == "assigned" and fnmatchcase(str(event.get("component")), consumer or "*")
    }
    points = (
        point
        for point in analysis.gauges
        if point.metric == "lag"
        and point.object.startswith("client ")
        and fnmatchcase(group := point.object.removeprefix("client "), wanted)
        and (consumer is None or group in joined)
    )
    return Measured(_each(points, expectation.stat), why="nobody sampled the lag")


def _changes(kind: str) -> Meter:
    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
        filters = expectation.filters
        watched = (
            [span for span in analysis.leaders if matches(span, filters)] if kind in ("leader", "isr") else []
        )
        hits = []
        for change in analysis.changes:
            topic, _, partition = change.object.rpartition("/")
            fields = {"topic": topic, "partition": partition}
            if change.what == kind and all(fnmatchcase(fields.get(k, ""), v) for k, v in filters.items()):
                hits.append(change)
        if not hits and not watched:
            return Measured(why=f"nobody watched for changes of the {kind}")
        return Measured({"": float(len(hits))})

    return meter


def _rebalances(expectation: Expectation, _analysis: Analysis, events: Events) -> Measured:
    group, consumer = expectation.filters.get("group", "*"), expectation.filters.get("consumer", "*")
    times = [
        event.get("t_s", 0.0)
        for event in events
        if event.get("event") == "assigned"
        and fnmatchcase(str(event.get("group", "")), group)
        and fnmatchcase(str(event.get("component", "")), consumer)
    ]
    if not times:
        return Measured(why="no such group was seen to get its partitions")
    return Measured({"": float(sum(at_s >= 0 for at_s in times))})


def _startup(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    load = next((row for row in analysis.phases if row.name == "load"), None)
    wanted = expectation.filters.get("phase")
    rows = [
        row
        for row in analysis.phases
        if row.seconds is not None
        and (fnmatchcase(row.name, wanted) if wanted else load is not None and row.from_s < load.from_s)
    ]
    return one(
        sum(row.seconds or 0.0 for row in rows) if rows else None, "no such phase, or load never began"
    )


def _lateness(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    return one(analysis.fidelity.histogram.value(expectation.stat), analysis.fidelity.reason)


def _unasked(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    if analysis.fidelity.good is None:
        return Measured(why=analysis.fidelity.reason)
    cause = expectation.filters.get("cause", "*")
    drops = analysis.fidelity.unasked_drops
    return Measured({"": float(sum(n for name, n in drops.items() if fnmatchcase(name, cause)))})


def _sample(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    wanted = {"source": "*", "object": "*", "metric": "*", **expectation.filters}
    values: dict[str, list[float]] = {}
    for point in analysis.gauges:
        source, _, obj = point.object.partition(" ")
        fields = {"source": source, "object": obj, "metric": point.metric}
        if all(fnmatchcase(fields[name], pattern) for name, pattern in wanted.items()):
            values.setdefault(f"{obj} {point.metric}", []).append(point.value)
    found = {name: statistic(numbers, expectation.stat) for name, numbers in values.items()}
    return Measured({n: v for n, v in found.items() if v is not None}, why="no such number was reported")


PERFORMANCE: dict[str, Meter] = {
    **dict.fromkeys(
        ("latency", "ack_latency", "ack_latency_sent", "send_delay", "sync_latency", "trace_latency"), _latency
    ),
    "throughput": _throughput, "throughput_bytes": _throughput,
    "delivery_rate": _delivery_rate, "delivery_rate_bytes": _delivery_rate, "lag": _lag,
    **dict.fromkeys(("link_throughput", "link_use", "link_drops", "link_loss", "queue"), _links),
    "lateness": _lateness, "unasked_drops": _unasked,
    "leader_changes": _changes("leader"), "isr_shrinks": _changes("isr"),
    "controller_changes": _changes("controller"), "rebalances": _rebalances,
    "cpu": _resources, "memory": _resources, "startup": _startup, "sample": _sample,
}  # fmt: skip
