"""Whether the emulation kept up: how late packets left against their due time, second by second of load.

Bad means: the 99th percentile over max(1 ms, 2 % of the shortest path's latency) in more than 1 % of the
seconds, or any drop that no link asked for. A single late second only warns, however short the run. So do a few
packets of a quiet second: one hiccup of the machine catches them all, and a hundredth of a hundred packets is no
percentile. A late second therefore counts only if the thousand packets around it are late as well.
"""

from __future__ import annotations

import math

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.samples import Track, Tracks
from stream2gym.analysis.tables import Fidelity
from stream2gym.monitors.lateness import BUCKET

BAD_SHARE = 0.01
LATE_SHARE = 0.01  # of packets: the 99th percentile is over the limit
ENOUGH = 1000  # packets, before a hundredth of them means something

Buckets = dict[float, int]  # upper bound in seconds, packets


def fidelity(inputs: Inputs, tracks: Tracks) -> Fidelity:
    """The judgement and its figures; ``good`` is None when nobody measured."""
    limit_s = _limit_s(inputs)
    lateness = {
        metric: track
        for (source, obj, metric), track in tracks.items()
        if (source, obj) == ("fabric", "lateness")
    }
    drops = {
        metric: round(track.growth(0.0, inputs.load_s))
        for (source, obj, metric), track in tracks.items()
        if (source, obj) == ("fabric", "unasked_drops")
    }
    drops = {cause: count for cause, count in drops.items() if count > 0}
    if not lateness:
        return Fidelity(None, "nobody measured how late packets were", limit_s, unasked_drops=drops)
    seconds = max(1, math.ceil(inputs.load_s))
    by_second = _by_second(lateness, seconds, inputs.load_s)
    bad = len(late_seconds(by_second, limit_s))
    histogram = _histogram(by_second, lateness.get("max_us", Track()).last(inputs.load_s) or 0.0)
    good, reason = True, f"packets left within {limit_s * 1e3:g} ms of their time (p99) in every second"
    warnings = []
    if drops:
        good, reason = False, f"{sum(drops.values())} packets were dropped that no link asked for"
    elif bad > max(1, BAD_SHARE * seconds):
        good = False
        reason = (
            f"packets left more than {limit_s * 1e3:g} ms late (p99) in {bad} of {seconds} seconds of load"
        )
    elif bad:
        reason = f"packets left in time in all but {bad} of {seconds} seconds of load"
        warnings.append(f"{bad} of {seconds} seconds of load were late")
    return Fidelity(
        good, reason, limit_s, seconds, bad,
        p99_s=histogram.value("p99"),
        max_s=histogram.value("max"),
        histogram=histogram,
        unasked_drops=drops,
        warnings=tuple(warnings),
    )  # fmt: skip


def _limit_s(inputs: Inputs) -> float:
    one_way_ms = [path.rtt_ms / 2 for path in inputs.plan.paths if path.nodes]
    return max(1e-3, 0.02 * min(one_way_ms, default=0.0) / 1e3)


def late_seconds(by_second: list[Buckets], limit_s: float) -> list[int]:
    """The seconds whose 99th percentile is over the limit, and that of the thousand packets around them."""
    packets = [sum(buckets.values()) for buckets in by_second]
    late = [sum(count for bound, count in buckets.items() if bound > limit_s) for buckets in by_second]
    found = []
    for second, (count, over) in enumerate(zip(packets, late, strict=True)):
        if over <= LATE_SHARE * count:
            continue
        first, last = _around(packets, second)
        if sum(late[first:last]) > LATE_SHARE * sum(packets[first:last]):
            found.append(second)
    return found


def _around(packets: list[int], second: int) -> tuple[int, int]:
    """The shortest stretch of seconds around this one, as even as can be, that holds enough packets."""
    first, last = second, second + 1
    while sum(packets[first:last]) < ENOUGH and (first > 0 or last < len(packets)):
        first, last = max(0, first - 1), min(len(packets), last + 1)
    return first, last


def _by_second(lateness: dict[str, Track], seconds: int, load_s: float) -> list[Buckets]:
    found: list[Buckets] = [{} for _ in range(seconds)]
    for metric, track in lateness.items():
        if metric.startswith(BUCKET):
            bound_s = float(metric.removeprefix(BUCKET)) / 1e6
            for at_s, count in track.between(0.0, load_s):
                buckets = found[min(int(at_s), seconds - 1)]
                buckets[bound_s] = buckets.get(bound_s, 0) + int(count)
    return found


def _histogram(by_second: list[Buckets], largest_us: float) -> Histogram:
    """All packets of load, each at the upper bound of its bucket."""
    counts: dict[int, int] = {}
    for buckets in by_second:
        for bound_s, count in buckets.items():
            counts[round(bound_s * 1e9)] = counts.get(round(bound_s * 1e9), 0) + count
    total_ns = float(sum(bound * count for bound, count in counts.items()))
    most = max([round(largest_us * 1e3), *counts], default=0)
    return Histogram(tuple(sorted(counts.items())), total_ns, min(counts, default=0), most)
