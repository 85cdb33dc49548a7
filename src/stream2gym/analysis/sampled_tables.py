"""The tables that are made from samples alone: links, leadership of partitions, CPU and memory, other numbers."""

from __future__ import annotations

import os

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.result_tables import Change, LeaderSpan, LinkRow, ResourceRow, SeriesPoint
from stream2gym.analysis.sample_statistics import is_bulk
from stream2gym.analysis.time_series import Track, Tracks, steps
from stream2gym.record.instances import component_of

_NOTHING = Track()
# Sources whose samples other tables hold, and the one that only says when monitors looked.
_SOURCES_WITH_TABLES = ("fabric", "process", "monitor")
# What Kafka's leadership table is made from.
_LEADERSHIP = ("leader", "isr", "replicas", "controller")
# A total since the machine was started: suspect time is found from it, and alone it tells nobody anything.
_PRESSURE = ("machine", "cpu", "pressure_s")


def make_link_tables(inputs: Inputs, tracks: Tracks) -> tuple[tuple[LinkRow, ...], tuple[SeriesPoint, ...]]:
    """One row for each direction of each link, and its throughput, drops and queue over time, while load was on."""
    rows, series = [], []
    load_s = inputs.load_s
    for link in inputs.plan.network.links:
        ends = {"forward": (link.a, link.port_a, link.b, link.port_b)}
        ends["backward"] = (link.b, link.port_b, link.a, link.port_a)
        for direction, settings in (("forward", link.forward), ("backward", link.backward)):
            name = f"{link.name} {direction}"
            mine = {
                metric: track for (source, obj, metric), track in tracks.items() if obj == name and source == "fabric"
            }
            if not mine:
                continue
            carried = mine.get("delivered_bytes", _NOTHING)
            drops = {m.removeprefix("dropped."): t for m, t in mine.items() if m.startswith("dropped.")}
            queue = mine.get("queue_bytes", _NOTHING)
            rates = []
            for from_s, to_s in steps(inputs):
                rates.append(carried.growth(from_s, to_s) * 8 / (to_s - from_s))
                held = max((value for _, value in queue.between(from_s, to_s)), default=queue.last(to_s) or 0.0)
                lost = sum(track.growth(from_s, to_s) for track in drops.values())
                series += [
                    SeriesPoint(name, metric, from_s, round(value, 3))
                    for metric, value in (("bps", rates[-1]), ("queue_bytes", held), ("drops", lost))
                ]
            peak = mine.get("queue_bytes_max", _NOTHING).highest_since(0.0, load_s) or 0.0
            held_max = max((value for _, value in queue.between(0.0, load_s)), default=0.0)
            source, source_port, target, target_port = ends[direction]
            rows.append(
                LinkRow(
                    link.name, direction, source, source_port, target, target_port,
                    packets=round(mine.get("delivered_packets", _NOTHING).growth(0.0, load_s)),
                    bytes=round(carried.growth(0.0, load_s)),
                    mean_bps=carried.growth(0.0, load_s) * 8 / load_s if load_s else 0.0,
                    max_bps=max(rates, default=0.0),
                    bandwidth_bps=settings.bandwidth_bps,
                    entered_packets=round(mine.get("entered_packets", _NOTHING).growth(0.0, load_s)),
                    dropped={cause: round(track.growth(0.0, load_s)) for cause, track in drops.items()},
                    queue_max_bytes=int(max(held_max, peak)),
                    all_bytes=round(carried.growth(0.0, max(load_s, inputs.drain_end_s))),
                )
            )  # fmt: skip
    return tuple(rows), tuple(series)


def make_leadership_tables(inputs: Inputs, tracks: Tracks) -> tuple[tuple[LeaderSpan, ...], tuple[Change, ...]]:
    """Who led each partition when, until the drain ended; and every change of the cluster from the start of load on.

    Changes are new leaders, replicas that fell out of sync, new controllers and rebalances of groups.
    """
    spans: list[LeaderSpan] = []
    changes: list[Change] = []
    end_s = inputs.drain_end_s
    for (source, obj, metric), track in sorted(tracks.items()):
        if source != "kafka":
            continue
        known: float | None = None
        since_s = 0.0
        topic, _, partition = obj.rpartition("/")
        leads = metric == "leader" and partition.isdigit()
        for at_s, value in zip(track.at_s, track.values, strict=True):
            if at_s > end_s:
                break
            if value == known:
                continue
            if known is not None:
                if at_s >= 0 and metric == "leader" and value >= 0:  # below 0 nobody leads, which is no new leader
                    changes.append(Change("leader", obj, at_s, known, value))
                elif at_s >= 0 and metric == "isr" and value < known:
                    changes.append(Change("isr", obj, at_s, known, value))
                elif at_s >= 0 and metric == "controller":
                    changes.append(Change("controller", obj, at_s, known, value))
                if leads:
                    spans.append(LeaderSpan(topic, int(partition), int(known), since_s, at_s))
            known, since_s = value, at_s
        if leads and known is not None:
            spans.append(LeaderSpan(topic, int(partition), int(known), since_s, end_s))
    for event in inputs.events:
        # Packets show what was read, not when it was assigned.
        if event.get("event") == "assigned" and event.get("how") != "wire" and event["t_s"] >= 0:
            changes.append(Change("rebalance", str(event.get("group", "")), event["t_s"], 0.0, 0.0))
    return tuple(spans), tuple(sorted(changes, key=lambda change: change.at_s))


def make_resource_tables(inputs: Inputs, tracks: Tracks) -> tuple[tuple[ResourceRow, ...], tuple[SeriesPoint, ...]]:
    """One row for each process, and its use of CPU and memory over time. CPU is a share of the whole machine."""
    machine = inputs.folder.info.get("machine") or {}
    cores = float(machine.get("cpus") or os.cpu_count() or 1)
    rows, series = [], []
    hosts = inputs.host_of
    for obj in sorted({obj for source, obj, _ in tracks if source == "process"}):
        cpu = tracks.get(("process", obj, "cpu_s"), Track())
        memory = tracks.get(("process", obj, "rss_bytes"), Track())
        used, held = [], []
        for from_s, to_s in steps(inputs):
            if not memory.at_s or to_s < memory.at_s[0]:
                continue
            used.append(max(0.0, cpu.growth(from_s, to_s)) / (to_s - from_s) / cores)
            held.append(memory.last(to_s) or 0.0)
            series += [
                SeriesPoint(obj, "cpu", from_s, round(used[-1], 5)),
                SeriesPoint(obj, "memory_bytes", from_s, held[-1]),
            ]
        if held:
            host = hosts.get(component_of(obj, hosts), "")
            peak = max([*held, *(value for _, value in memory.between(0.0, inputs.load_s))])
            rows.append(
                ResourceRow(
                    obj, host, sum(used) / len(used), max(used), sum(held) / len(held), peak,
                    cpu.values[-1] if cpu.values else 0.0,
                )
            )  # fmt: skip
    return tuple(rows), tuple(series)


def make_gauges(inputs: Inputs, tracks: Tracks) -> tuple[SeriesPoint, ...]:
    """The numbers that programs and monitors reported and that no other table holds."""
    return tuple(
        SeriesPoint(f"{source} {obj}", metric, at_s, value)
        for (source, obj, metric), track in sorted(tracks.items())
        if source not in _SOURCES_WITH_TABLES
        and (source, obj, metric) != _PRESSURE
        and not (source == "kafka" and metric in _LEADERSHIP)
        and not is_bulk(source, metric)
        and not metric.startswith(("position ", "first "))
        for at_s, value in zip(track.at_s, track.values, strict=True)
    )
