"""Meters of performance: latencies, throughput, links, the cluster, the machine and the emulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from math import inf
from typing import Any

from stream2gym.analysis.histogram import Histogram, merge_histograms
from stream2gym.analysis.result_tables import Analysis, FlowPoint, MissingRow, SeriesPoint
from stream2gym.analysis.run_history import find_startup_s, is_in_warmup
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.analysis.suspect import GAP, NO_LOOK, NOT_SAMPLED
from stream2gym.judge.measurement import Events, Measurement, Meter, matches, measure_one
from stream2gym.judge.silent_monitors import add_missed_changes, samples_come_from, widen_by_silence
from stream2gym.judge.unobserved import find_clients
from stream2gym.kinds.expectation_grammar import Expectation
from stream2gym.kinds.monitor_sources import KAFKA
from stream2gym.record.instances import MARK

# The object and the metric of a gauge.
UNDER_REPLICATED = ("kafka cluster", "under_replicated")
NAMES = {"from": "source", "to": "topic"}
_TAKEN_FOR_OTHERS = "results may be those of failed or unanswered messages that have the same key or value"


def _measure_latency(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    filters = {name: wanted for name, wanted in expectation.filters.items() if name != "of"}
    rows = [row for row in analysis.latency if row.kind == expectation.metric and matches(row, filters, **NAMES)]
    why = next((row.why_unknown for row in analysis.traces if row.why_unknown), "no such message was seen to arrive")
    other = f"{expectation.metric}_sent"
    if not rows and any(row.kind == other and matches(row, filters, **NAMES) for row in analysis.latency):
        why = f"programs of yours give their messages no due time; {other} asks from when they were sent"
    arrived, least = (merge_histograms(getattr(row, name) for row in rows) for name in ("histogram", "least"))
    if "of" in expectation.filters:
        return _measure_arrived(arrived, least, expectation.stat, why)
    return _include_missing(arrived, least, expectation, analysis, why)


def _measure_arrived(arrived: Histogram, least: Histogram, stat: str, why: str) -> Measurement:
    """A statistic of the messages that arrived. ``least`` has the latencies that they had at least."""
    low, high = least.value(stat), arrived.value(stat)
    if low is None or high is None or low >= high:
        return measure_one(high, why)
    return Measurement({"": low}, why=_TAKEN_FOR_OTHERS, bounds={"": (low, high)})


def _include_missing(
    arrived: Histogram, least: Histogram, expectation: Expectation, analysis: Analysis, why: str
) -> Measurement:
    """A statistic of latencies that includes the messages that never arrived.

    Each of those took at least the time until the drain ended, and at most for ever. ``least`` has the latencies that
    messages that arrived had at least. ``why`` is the reason when no message arrived and none is missing.
    """
    stat = expectation.stat
    found = list(_select_missing(expectation, analysis))
    gone = merge_histograms(row.histogram for row, is_sure in found if is_sure)
    doubtful = sum(row.doubtful if is_sure else row.doubtful + row.histogram.count for row, is_sure in found)
    low = merge_histograms([least, gone]).value(stat)
    high = arrived.value(stat, beyond=gone.count + doubtful)
    if low is None or high is None or not gone.count + doubtful:
        return _measure_arrived(arrived, least, stat, why)
    count = arrived.count + gone.count
    words = f"{gone.count:,} of {count:,} messages had not arrived when the drain ended" if gone.count else ""
    if doubtful:
        more = f"{doubtful:,} more that did not arrive may have been meant"
        words = f"{words}; {more}" if words else more
    hint = f"(of={expectation.definition.of}) asks about the others alone"
    return Measurement({"": low}, why=f"{words}; {hint}", bounds={"": (low, high)})


def _select_missing(expectation: Expectation, analysis: Analysis) -> Iterator[tuple[MissingRow, bool]]:
    """Rows of missing messages, each with whether all of its messages surely match the filters.

    A message that never arrived has no consumer, and one that was unanswered may have no partition.
    """
    filters = {name: wanted for name, wanted in expectation.filters.items() if name != "of"}
    consumer, partition = filters.pop("consumer", None), filters.pop("partition", None)
    for row in analysis.missing:
        if row.kind != expectation.metric or not matches(row, filters, **NAMES):
            continue
        is_sure = True
        if partition is not None:
            if row.partition >= 0 and not fnmatchcase(str(row.partition), partition):
                continue
            is_sure = row.partition >= 0
        if consumer is not None:
            members = {c.name for c in analysis.clients if (c.topic, c.group) == (row.topic, row.group)}
            meant = [name for name in members if fnmatchcase(name, consumer)]
            if not meant:
                continue
            is_sure = is_sure and len(meant) == len(members)
        yield row, is_sure


def _measure_throughput(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    return _add_hidden(_measure_recorded_throughput(expectation, analysis), "producer", expectation, analysis)


def _add_hidden(measured: Measurement, kind: str, expectation: Expectation, analysis: Analysis) -> Measurement:
    """A rate without an upper bound where a client has a part in it that nobody observed."""
    hidden = dict.fromkeys(c.name for c in find_clients(analysis, kind, expectation.filters) if not c.observed)
    if not hidden or not measured.values:
        return measured
    verb = "sent" if kind == "producer" else "received"
    bounds = {name: (value, inf) for name, value in measured.values.items()}
    return replace(measured, bounds=bounds, why=f"{', '.join(hidden)} {verb} unobserved")


def _measure_recorded_throughput(expectation: Expectation, analysis: Analysis) -> Measurement:
    by_bytes = expectation.metric.endswith("_bytes")
    rows = [row for row in analysis.sent if matches(row, expectation.filters)]
    if not any(row.acknowledged for row in rows):
        silent = any(row.unconfirmed for row in rows)
        if rows and not silent:
            return Measurement({"": 0.0})
        return Measurement(why="acks 0: nobody acknowledged anything" if silent else "no recorded producer matches")
    if expectation.stat == "mean":
        total = sum(row.count_in_load(by_bytes=by_bytes) for row in rows)
        return measure_one(total / analysis.load_s if analysis.load_s else None, "load took no time")
    if "partition" in expectation.filters:
        return Measurement(why="throughput over time is kept by topic and producer, not by partition")
    return _measure_flow(expectation, analysis, "acknowledged", by_bytes)


def _measure_delivery_rate(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    if "partition" in expectation.filters:
        return Measurement(why="receipts over time are kept by topic and consumer, not by partition")
    measured = _measure_flow(expectation, analysis, "received", expectation.metric.endswith("_bytes"))
    return _add_hidden(measured, "consumer", expectation, analysis)


def _measure_flow(expectation: Expectation, analysis: Analysis, kind: str, by_bytes: bool) -> Measurement:
    names = {"producer": "client", "consumer": "client"}
    points: list[FlowPoint] = [
        point for point in analysis.flow if point.kind == kind and matches(point, expectation.filters, **names)
    ]
    if not points:
        return Measurement(why="no such message was seen")
    step_s = analysis.step_s
    whole = max(1, int(analysis.load_s // step_s))
    sums = [0.0] * whole
    for point in points:
        step = round(point.at_s / step_s)
        if 0 <= step < whole:
            sums[step] += point.bytes if by_bytes else point.messages
    shortest = min(step_s, analysis.load_s) or step_s
    return measure_one(
        compute_statistic([total / shortest for total in sums], expectation.stat), "no whole second of load"
    )


def _compute_each(points: Iterable[SeriesPoint], stat: str) -> dict[str, float]:
    """A statistic of the values of each object."""
    values: dict[str, list[float]] = {}
    for point in points:
        values.setdefault(point.object, []).append(point.value)
    return {
        name: value for name, numbers in values.items() if (value := compute_statistic(numbers, stat)) is not None
    }


def _select_links(expectation: Expectation, analysis: Analysis) -> list[Any]:
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


def _measure_links(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    rows = {f"{row.link} {row.direction}": row for row in _select_links(expectation, analysis)}
    if expectation.metric == "link_use":
        rows = {name: row for name, row in rows.items() if row.bandwidth_bps}
    if not rows:
        return Measurement(why="no such link was sampled")
    metric, stat = expectation.metric, expectation.stat
    if metric == "link_bytes":
        counted = {name: float(row.all_bytes) for name, row in rows.items() if row.all_bytes is not None}
        return Measurement(counted, why="the record does not tell what links delivered in the drain")
    if metric in ("link_drops", "link_loss"):
        cause = expectation.filters.get("cause", "*")
        drops = {n: sum(c for k, c in r.dropped.items() if fnmatchcase(k, cause)) for n, r in rows.items()}
        if metric == "link_drops":
            return Measurement({"": float(sum(drops.values()))})
        return Measurement({name: drops[name] / (row.entered_packets or 1) for name, row in rows.items()})
    if metric == "queue" and stat == "max":
        return Measurement({name: float(row.queue_max_bytes) for name, row in rows.items()})
    wanted = "queue_bytes" if metric == "queue" else "bps"
    values = _compute_each((p for p in analysis.link_series if p.object in rows and p.metric == wanted), stat)
    if metric == "link_use":
        values = {name: value / rows[name].bandwidth_bps for name, value in values.items()}
    return Measurement(values, why="no such link was sampled")


def _measure_resources(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    asked = dict(expectation.filters)
    component = asked.pop("component", "*")
    rows = {
        row.component: row
        for row in analysis.resources
        if matches(row, asked)
        and any(fnmatchcase(name, component) for name in (row.component, row.component.partition(MARK)[0]))
    }
    if expectation.metric == "memory" and expectation.stat == "max":
        return Measurement(
            {name: row.memory_max_bytes for name, row in rows.items()}, why="no such component was sampled"
        )
    wanted = "cpu" if expectation.metric == "cpu" else "memory_bytes"
    points = (p for p in analysis.resource_series if p.object in rows and p.metric == wanted)
    return Measurement(_compute_each(points, expectation.stat), why="no such component was sampled")


def _measure_lag(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    """Lag is sampled for groups. The lag of a consumer is that of the groups in which it was given partitions."""
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
    measured = Measurement(_compute_each(points, expectation.stat), why="nobody sampled the lag")
    return widen_by_silence(measured, expectation.stat, events, lambda monitor: monitor == "lag")


def _measure_under_replicated(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    points = [point for point in analysis.gauges if (point.object, point.metric) == UNDER_REPLICATED]
    # What held at the start of load was sampled before it.
    before = [point.value for point in points if point.at_s < 0][-1:]
    values = before + [point.value for point in points if point.at_s >= 0]
    measured = measure_one(compute_statistic(values, expectation.stat), "nobody watched the in-sync replicas")
    return widen_by_silence(measured, expectation.stat, events, lambda monitor: monitor == KAFKA.name)


def _make_change_meter(kind: str) -> Meter:
    def meter(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
        filters = expectation.filters
        # The watch of the leaders also asks for the controller.
        watched = [span for span in analysis.leaders if kind == "controller" or matches(span, filters)]
        hits = []
        for change in analysis.changes:
            topic, _, partition = change.object.rpartition("/")
            fields = {"topic": topic, "partition": partition}
            if change.what == kind and all(fnmatchcase(fields.get(k, ""), v) for k, v in filters.items()):
                hits.append(change)
        if not hits and not watched:
            return Measurement(why=f"nobody watched for changes of the {kind}")
        return add_missed_changes(Measurement({"": float(len(hits))}), events)

    return meter


def _measure_partitions_led(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    """The partitions that each broker led. One that it led for half of the load counts as a half."""
    if not analysis.leaders or not analysis.brokers:
        return Measurement(why="nobody watched who led the partitions")
    component, topic = expectation.filters.get("component", "*"), expectation.filters.get("topic", "*")
    names = {number: name for name, number in analysis.brokers.items() if fnmatchcase(name, component)}
    seconds = dict.fromkeys(names.values(), 0.0)
    for span in analysis.leaders:
        if span.leader in names and fnmatchcase(span.topic, topic):
            overlap_s = min(span.to_s, analysis.load_s) - max(span.from_s, 0.0)
            seconds[names[span.leader]] += max(0.0, overlap_s)
    if not analysis.load_s:
        return Measurement(why="load took no time")
    led = {name: total_s / analysis.load_s for name, total_s in seconds.items()}
    return Measurement(led, why="no such broker")


def _measure_rebalances(expectation: Expectation, _analysis: Analysis, events: Events) -> Measurement:
    group, consumer = expectation.filters.get("group", "*"), expectation.filters.get("consumer", "*")
    times = [
        event.get("t_s", 0.0)
        for event in events
        if event.get("event") == "assigned"
        and event.get("how") != "wire"
        and fnmatchcase(str(event.get("group", "")), group)
        and fnmatchcase(str(event.get("component", "")), consumer)
    ]
    if not times:
        return Measurement(why="no such group was seen to get its partitions")
    return Measurement({"": float(sum(at_s >= 0 for at_s in times))})


def _measure_startup(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    why = "no such phase, or load never began"
    wanted = expectation.filters.get("phase")
    if wanted is None:
        return measure_one(find_startup_s(analysis.phases), why)
    took = [row.seconds for row in analysis.phases if row.seconds is not None and fnmatchcase(row.name, wanted)]
    return measure_one(sum(took) if took else None, why)


def _measure_first_receipt(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    if analysis.began_s is None:
        return Measurement(why="the record does not tell when the command began")
    rows = (row for row in analysis.received if matches(row, expectation.filters))
    firsts = [row.first_s - analysis.began_s for row in rows if row.first_s is not None]
    return measure_one(min(firsts, default=None), "no such message was received")


def _measure_lateness(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    measured = measure_one(analysis.fidelity.histogram.value(expectation.stat), analysis.fidelity.reason)
    return _add_unsampled(measured, analysis, expectation.stat)


def _measure_unasked_drops(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    if analysis.fidelity.good is None:
        return Measurement(why=analysis.fidelity.reason)
    cause = expectation.filters.get("cause", "*")
    drops = analysis.fidelity.unasked_drops
    measured = Measurement({"": float(sum(n for name, n in drops.items() if fnmatchcase(name, cause)))})
    return _add_unsampled(measured, analysis, "max")


def _add_unsampled(measured: Measurement, analysis: Analysis, stat: str) -> Measurement:
    """A figure of the emulation with the bounds that hold what was not sampled. More can only raise a maximum."""
    gaps = [s for s in analysis.fidelity.suspect or () if {GAP, NOT_SAMPLED, NO_LOOK} & set(s.reasons)]
    if not gaps:
        return measured
    seconds = sum(span.to_s - span.from_s for span in gaps)
    bounds = {name: (value if stat == "max" else 0.0, inf) for name, value in measured.values.items()}
    return replace(measured, bounds=bounds, why=f"nothing was sampled for {seconds:g} s")


def _measure_sample(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    wanted = {"source": "*", "object": "*", "metric": "*", **expectation.filters}
    values: dict[str, list[float]] = {}
    for point in analysis.gauges:
        source, _, obj = point.object.partition(" ")
        fields = {"source": source, "object": obj, "metric": point.metric}
        fits = all(fnmatchcase(fields[name], pattern) for name, pattern in wanted.items())
        if fits and not is_in_warmup(analysis.phases, point.at_s):
            values.setdefault(f"{obj} {point.metric}", []).append(point.value)
    found = {name: compute_statistic(numbers, expectation.stat) for name, numbers in values.items()}
    for row in analysis.sampled:
        if matches(row, expectation.filters):
            found[f"{row.object} {row.metric}"] = row.stats.get(expectation.stat)
    measured = Measurement({n: v for n, v in found.items() if v is not None}, why="no such number was reported")
    objects = [name.rpartition(" ")[0] for name in measured.values]
    return widen_by_silence(
        measured, expectation.stat, events, lambda name: samples_come_from(name, wanted["source"], objects)
    )


PERFORMANCE: dict[str, Meter] = {
    **dict.fromkeys(
        (
            "latency", "ack_latency", "ack_latency_sent", "send_delay", "sync_latency", "trace_latency",
            "latency_sent", "sync_latency_sent", "trace_latency_sent",
        ),
        _measure_latency,
    ),
    "throughput": _measure_throughput, "throughput_bytes": _measure_throughput,
    "delivery_rate": _measure_delivery_rate, "delivery_rate_bytes": _measure_delivery_rate, "lag": _measure_lag,
    **dict.fromkeys(
        ("link_throughput", "link_bytes", "link_use", "link_drops", "link_loss", "queue"), _measure_links
    ),
    "lateness": _measure_lateness, "unasked_drops": _measure_unasked_drops,
    "leader_changes": _make_change_meter("leader"), "isr_shrinks": _make_change_meter("isr"),
    "partitions_led": _measure_partitions_led,
    "under_replicated": _measure_under_replicated,
    "controller_changes": _make_change_meter("controller"), "rebalances": _measure_rebalances,
    "cpu": _measure_resources, "memory": _measure_resources, "startup": _measure_startup,
    "first_receipt": _measure_first_receipt, "sample": _measure_sample,
}  # fmt: skip
