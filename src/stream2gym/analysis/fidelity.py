"""Whether the emulation kept up: how late packets left against their due time, second by second of load.

Bad means: the 99th percentile over max(1 ms, 2 % of the shortest path's latency) in more than 1 % of the
seconds, or any drop that no link asked for. A single late second only warns, however short the run. The monitor
writes percentiles of each of its intervals; a second is as bad as its worst interval.
"""

from __future__ import annotations

import math

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.samples import Track, Tracks
from stream2gym.analysis.tables import Fidelity

BAD_SHARE = 0.01
_SHARES = (("p50_us", 0.5), ("p90_us", 0.4), ("p99_us", 0.09), ("p99.9_us", 0.01))


def fidelity(inputs: Inputs, tracks: Tracks) -> Fidelity:
    """The judgement and its figures; ``good`` is None when nobody measured."""
    limit_s = _limit_s(inputs)
    lateness = {
        metric: track
        for (source, obj, metric), track in tracks.items()
        if (source, obj) == ("fabric", "lateness")
    }
    late = lateness.get("p99_us", Track())
    drops = {
        metric: round(track.growth(0.0, inputs.load_s))
        for (source, obj, metric), track in tracks.items()
        if (source, obj) == ("fabric", "unasked_drops")
    }
    drops = {cause: count for cause, count in drops.items() if count > 0}
    if not lateness:
        return Fidelity(None, "nobody measured how late packets were", limit_s, unasked_drops=drops)
    seconds = max(1, math.ceil(inputs.load_s))
    worst: dict[int, float] = {}
    for at_s, value in late.between(0.0, inputs.load_s):
        worst[int(at_s)] = max(worst.get(int(at_s), 0.0), value / 1e6)
    bad = sum(1 for value in worst.values() if value > limit_s)
    histogram = _histogram(lateness, inputs.load_s)
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


def _histogram(lateness: dict[str, Track], load_s: float) -> Histogram:
    """All packets of load, each at the next higher percentile that its interval wrote down."""
    counts: dict[int, int] = {}
    total_ns = 0.0
    for at_s, packets in lateness.get("packets", Track()).between(0.0, load_s):
        left = int(packets)
        value = 0
        for metric, share in _SHARES:
            track = lateness.get(metric)
            value = round((track.last(at_s) or 0.0) * 1e3) if track else value
            number = min(left, round(packets * share))
            left -= number
            if number:
                counts[value] = counts.get(value, 0) + number
                total_ns += number * value
        if left:
            counts[value] = counts.get(value, 0) + left
            total_ns += left * value
    largest = lateness.get("max_us", Track()).last(load_s)
    most = max([round((largest or 0.0) * 1e3), *counts], default=0)
    return Histogram(tuple(sorted(counts.items())), total_ns, min(counts, default=0), most)
