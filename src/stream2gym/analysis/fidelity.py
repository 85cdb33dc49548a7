"""Whether the machine kept up with a run: its suspect time, how late its packets left, and a remedy.

``suspect`` finds the suspect time, by the limits in ``thresholds``. Here the record is read for it, and what the
experiment asked for is excused.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.result_tables import Fidelity, SeriesPoint, SuspectSpan
from stream2gym.analysis.suspect import (
    DROPPED,
    LATE,
    NO_LOOK,
    NOT_SAMPLED,
    VERY_LATE,
    BacklogCurve,
    Cells,
    Interval,
    LatenessCounts,
    SendDelay,
    count_packets_by_cell,
    find_throttled,
    mark_backlog,
    mark_behind,
    mark_drops,
    mark_gaps,
    mark_late,
    mark_waits,
    sum_by_cell,
    summarise_reasons,
)
from stream2gym.analysis.thresholds import (
    GAP_S,
    HALF_S,
    LATE_OF_PATH,
    LATE_S,
    PRESSURE_SHARE,
    TAIL_SHARE,
    WAIT_LEAST_S,
)
from stream2gym.analysis.time_series import Track, Tracks
from stream2gym.fabric.protocol import DEVICES_IN_TURN
from stream2gym.kinds.monitor_sources import MACHINE, PROCESS
from stream2gym.kinds.registry import registry
from stream2gym.monitors.lateness_samples import BUCKET
from stream2gym.record.instances import component_of, instance_label

# Source and metric of the samples that say how long the threads of a process waited for a CPU.
_WAITED = (PROCESS.name, "cpu_wait_s")
# A component that a fault held up has to catch up: for this long after the fault its waits are attributed to it.
AFTERMATH_S = 1.0
# A load that is no longer than this is drawn with every half second.
_FINE_SERIES_S = 300.0
_NETWORK_REMEDY = "let the fabric have real-time priority (s2g doctor says how) or send fewer packets"
_MONITOR_REMEDY = "a monitor was slow or failed: see the samples look_s and the events monitor-failed"
_MACHINE_REMEDY = "stop other programs, lower the rates, use fewer components, or take a machine with more cores"


def assess_fidelity(
    inputs: Inputs, tracks: Tracks, delays: Sequence[SendDelay] = (), curves: Iterable[BacklogCurve] = ()
) -> Fidelity:
    """Whether the machine kept up, with the figures. ``good`` is None when nobody measured it."""
    limit_s = _find_limit_s(inputs)
    lateness = _select(tracks, "fabric", "lateness")
    drops = _select(tracks, "fabric", "unasked_drops")
    sampled_s = list(lateness["packets"].at_s) if "packets" in lateness else []
    # Every device is asked for its drops at the first sample after the end of load.
    asked_s = min((at_s for at_s in sampled_s if at_s >= inputs.load_s), default=inputs.load_s)
    dropped = {cause: round(track.growth(0.0, asked_s)) for cause, track in drops.items()}
    dropped = {cause: count for cause, count in dropped.items() if count > 0}
    if not sampled_s:
        lacks = "nobody measured how late packets were"
        return Fidelity(None, lacks, limit_s, unasked_drops=dropped, lacks=lacks)
    begun_s = min([sampled_s[0], *(phase.from_s for phase in inputs.phases)])
    cells = Cells.between(begun_s, max(inputs.drain_end_s, sampled_s[0] + HALF_S))
    if sampled_s[0] - begun_s > GAP_S:
        cells.mark(begun_s, sampled_s[0], NOT_SAMPLED)
    buckets = {
        float(metric.removeprefix(BUCKET)) / 1e6: track
        for metric, track in lateness.items()
        if metric.startswith(BUCKET)
    }
    packets = count_packets_by_cell([sampled_s[0] - HALF_S, *sampled_s], buckets)
    mark_gaps(cells, sampled_s)
    _mark_silent_monitors(cells, tracks, sampled_s[0])
    mark_late(cells, packets, limit_s)
    mark_drops(cells, drops.values(), HALF_S * (len(inputs.plan.network.hosts) // DEVICES_IN_TURN))
    lacks = _mark_starvation(cells, inputs, tracks)
    _mark_producers(cells, inputs, tracks, delays)
    mark_backlog(cells, curves)
    spans = cells.spans()
    histogram = _make_histogram(
        (buckets for cell, buckets in packets.items() if 0 <= cell * HALF_S < inputs.load_s),
        (lateness.get("max_us") or Track()).highest_since(0.0, inputs.load_s) or 0.0,
    )
    clear = (buckets for cell, buckets in packets.items() if not cells.is_severe(cell))
    lateness_s, late_share = _find_kept_lateness(clear, limit_s)
    in_load = [span for span in spans if span.to_s > 0 and span.from_s < inputs.load_s]
    pressure = _measure_pressure(tracks, inputs.load_s)
    reason = describe(in_load, inputs.load_s, limit_s)
    remedy = _suggest_remedy(in_load, pressure)
    return Fidelity(
        None if lacks else not in_load,
        lacks or reason,
        limit_s,
        max(1, math.ceil(inputs.load_s)),
        _count_seconds(in_load, inputs.load_s),
        p99_s=histogram.value("p99"),
        max_s=histogram.value("max"),
        histogram=histogram,
        unasked_drops=dropped,
        warnings=(f"{reason}; {remedy}",) if in_load else (),
        suspect=None if lacks else spans,
        lacks=lacks,
        lateness_s=lateness_s,
        late_share=late_share,
        remedy=remedy,
        cpu_pressure=pressure,
        series=tuple(_make_series(inputs, tracks, packets, limit_s)),
    )


def _select(tracks: Tracks, source: str, obj: str) -> dict[str, Track]:
    return {metric: track for (s, o, metric), track in tracks.items() if (s, o) == (source, obj)}


def _find_limit_s(inputs: Inputs) -> float:
    """How late a packet may leave: a millisecond, or a share of the latency of the shortest path."""
    one_way_ms = [path.rtt_ms / 2 for path in inputs.plan.paths if path.nodes]
    return max(LATE_S, LATE_OF_PATH * min(one_way_ms, default=0.0) / 1e3)


# ---- waits for a CPU


def _mark_silent_monitors(cells: Cells, tracks: Tracks, from_s: float) -> None:
    """Mark where nobody looked at the processes or the machine, so that their waits for a CPU were not seen.

    Each look of a monitor is a sample. The lateness of packets needs no such sample, because every look at the fabric
    samples it. Records of former versions have none: there one thread looked at everything, and lateness tells.
    """
    looks = {
        name: track.at_s
        for (source, name, metric), track in tracks.items()
        if (source, metric) == ("monitor", "look_s")
    }
    for name in (PROCESS.name, MACHINE.name) if looks else ():
        mark_gaps(cells, [from_s, *looks.get(name, ())], NO_LOOK)


def _mark_starvation(cells: Cells, inputs: Inputs, tracks: Tracks) -> str:
    """Mark where threads waited for a CPU. Returns what the record lacks to tell it, or ""."""
    waits = {obj: track for (source, obj, metric), track in tracks.items() if (source, metric) == _WAITED}
    for name, waited in waits.items():
        used = tracks.get(("process", name, "cpu_s"), Track())
        excused = _find_excuses(inputs, tracks, name, ("cpu",))
        if excused is not None:
            mark_waits(cells, name, waited, used, excused)
    if waits or not inputs.plan.components:
        return ""
    pressure = tracks.get(("machine", "cpu", "pressure_s"))
    if pressure is None:
        return "nobody measured how long threads waited for a CPU"
    for cell, stalled_s in sum_by_cell(pressure).items():
        if stalled_s > PRESSURE_SHARE * HALF_S:
            cells.mark(cell * HALF_S, (cell + 1) * HALF_S, "programs waited for a CPU")
    return ""


def _mark_producers(cells: Cells, inputs: Inputs, tracks: Tracks, delays: Sequence[SendDelay]) -> None:
    """Mark where producers of ours sent late, instance by instance."""
    instances = {part.name: part.instances for part in inputs.plan.components}
    by_instance: dict[tuple[str, int], list[SendDelay]] = defaultdict(list)
    for delay in delays:
        by_instance[delay.producer, delay.instance].append(delay)
    for (producer, instance), own in by_instance.items():
        excused = _find_excuses(inputs, tracks, producer, ("cpu", "sending"))
        if excused is None:
            continue
        name = instance_label(producer, instance, instances.get(producer, 1))
        blocked = sum_by_cell(tracks.get(("process", name, "blocked_s"), Track()), began_at_zero=True)
        mark_behind(cells, own, blocked, [*excused, *_find_restarts(inputs, producer)], name)


def _find_excuses(inputs: Inputs, tracks: Tracks, name: str, held_up: Sequence[str]) -> list[Interval] | None:
    """When the experiment itself held a component up. None: all the time, for all that the record tells.

    A CPU limit of its host holds it up while the host reaches the limit. Below the limit it competes for the machine
    like any other. ``held_up`` says what the component was kept from, as kinds of faults declare it.
    """
    component = component_of(name, inputs.host_of)
    host = inputs.host_of.get(component, "")
    throttled: list[Interval] = []
    if any(planned.name == host and planned.cpu_share is not None for planned in inputs.plan.network.hosts):
        reached = tracks.get(("machine", host, "limit_reached"))
        if reached is None:  # a record of a former version
            return None
        throttled = find_throttled(reached)
    return throttled + [
        (window.from_s, (math.inf if window.to_s is None else window.to_s) + AFTERMATH_S)
        for window in inputs.fault_windows
        if (kind := registry("fault").find(window.kind)) is not None
        and kind.holds_up in held_up
        and {name, component, host} & set(window.on)
    ]


def _find_restarts(inputs: Inputs, component: str) -> list[Interval]:
    """The time from each death of a component to its next start, in which no machine could have sent in time."""
    spans: list[Interval] = []
    died_s: float | None = None
    for event in inputs.events:
        if event.get("component") != component:
            continue
        if event["event"] == "died" and died_s is None:
            died_s = float(event["t_s"])
        elif event["event"] == "started" and died_s is not None:
            spans.append((died_s, float(event["t_s"]) + AFTERMATH_S))
            died_s = None
    return spans


def _measure_pressure(tracks: Tracks, load_s: float) -> float | None:
    track = tracks.get(("machine", "cpu", "pressure_s"))
    return None if track is None or not load_s else track.growth(0.0, load_s) / load_s


# ---- figures and words


def _make_series(
    inputs: Inputs, tracks: Tracks, packets: Mapping[int, LatenessCounts], limit_s: float
) -> Iterator[SeriesPoint]:
    """The signs of a slow machine over time. In a long run, each time step has the highest share of its half seconds.

    They are the share of late packets, the share of time in which the component that waited most waited for a CPU,
    and the share of time in which any program of the machine did.
    """
    shares: dict[str, dict[int, float]] = {"late packets": {}, "waits for a CPU": {}, "CPU pressure": {}}
    for cell, buckets in packets.items():
        late = sum(count for bound_s, count in buckets.items() if bound_s > limit_s)
        shares["late packets"][cell] = late / (sum(buckets.values()) or 1.0)
    for (source, name, metric), track in tracks.items():
        if (source, metric) == _WAITED:
            ran = sum_by_cell(tracks.get(("process", name, "cpu_s"), Track()))
            for cell, wait_s in sum_by_cell(track).items():
                share = wait_s / (wait_s + ran.get(cell, 0.0)) if wait_s >= WAIT_LEAST_S else 0.0
                waits = shares["waits for a CPU"]
                waits[cell] = max(waits.get(cell, 0.0), share)
    pressure = tracks.get(("machine", "cpu", "pressure_s"), Track())
    shares["CPU pressure"] = {cell: min(1.0, stalled / HALF_S) for cell, stalled in sum_by_cell(pressure).items()}
    wide = 1 if inputs.load_s <= _FINE_SERIES_S else round(inputs.step_s / HALF_S)
    for name, values in shares.items():
        highest: dict[int, float] = {}
        for cell, share in values.items():
            if 0 <= cell * HALF_S < inputs.load_s:
                highest[cell // wide] = max(highest.get(cell // wide, 0.0), share)
        for step in sorted(highest):
            yield SeriesPoint(name, "share", step * wide * HALF_S, round(highest[step], 4))


def describe(spans: Sequence[SuspectSpan], load_s: float, limit_s: float) -> str:
    """How much of the load is suspect and why, in words."""
    if not spans:
        return f"packets left within {limit_s * 1e3:g} ms of their time, and nothing waited long for a CPU"
    total_s = sum(min(span.to_s, load_s) - max(span.from_s, 0.0) for span in spans)
    signs = ", ".join(summarise_reasons(reason for span in spans for reason in span.reasons))
    return f"{total_s:.3g} s of {load_s:.3g} s of load are suspect: {signs}"


def _suggest_remedy(spans: Sequence[SuspectSpan], pressure: float | None) -> str:
    reasons = {reason for span in spans for reason in span.reasons}
    if not reasons:
        return ""
    if reasons == {NO_LOOK}:
        return _MONITOR_REMEDY
    if reasons <= {LATE, VERY_LATE, DROPPED}:
        return _NETWORK_REMEDY
    stalled = "" if pressure is None else f" (some program waited for a CPU in {pressure:.0%} of the load)"
    return f"the machine was the bottleneck{stalled}: {_MACHINE_REMEDY}"


def _count_seconds(spans: Sequence[SuspectSpan], load_s: float) -> int:
    seconds: set[int] = set()
    for span in spans:
        seconds.update(range(max(0, math.floor(span.from_s)), math.ceil(min(span.to_s, load_s))))
    return len(seconds)


def _find_kept_lateness(packets: Iterable[LatenessCounts], limit_s: float) -> tuple[float, float]:
    """The lateness that all packets but a small share kept, and that share.

    The share is 0 where all packets kept the limit.
    """
    counts: Counter[float] = Counter()
    for buckets in packets:
        counts.update(buckets)
    total, beyond = sum(counts.values()), 0.0
    for bound_s in sorted(counts, reverse=True):
        if bound_s <= limit_s or beyond + counts[bound_s] > TAIL_SHARE * total:
            return bound_s, beyond / total
        beyond += counts[bound_s]
    return 0.0, 0.0


def _make_histogram(packets: Iterable[LatenessCounts], largest_us: float) -> Histogram:
    """The lateness of all packets of the load. Each packet counts with the upper bound of its bucket."""
    shares: Counter[int] = Counter()
    for buckets in packets:
        for bound_s, count in buckets.items():
            shares[round(bound_s * 1e9)] += count  # type: ignore[assignment]
    counts = {bound_ns: max(1, round(count)) for bound_ns, count in shares.items() if count > 0}
    total_ns = float(sum(bound_ns * count for bound_ns, count in counts.items()))
    most = max([round(largest_us * 1e3), *counts], default=0)
    return Histogram(tuple(sorted(counts.items())), total_ns, min(counts, default=0), most)
