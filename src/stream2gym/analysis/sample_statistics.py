"""Statistics of values, by their names in expectations; and those of all samples of numbers that no figure draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import inf

from stream2gym.analysis.result_tables import PhaseRow
from stream2gym.analysis.run_history import find_warmup
from stream2gym.analysis.sampled_rows import SampledRow
from stream2gym.analysis.time_series import Tracks
from stream2gym.kinds.metrics import SPREAD

STATISTICS = ("last", "total", *SPREAD)
# Sources with so many numbers that the analysis keeps their statistics and not their values, and the same of the
# numbers of another source. The values are in the table of samples.
_BULK_SOURCES = ("host", "link", "memory")
_BULK_METRICS = (("kafka", "end_offset"),)


def compute_statistic(values: Sequence[float], stat: str) -> float | None:
    """A statistic, by its name in expectations, of values in the order of time.

    None: there are no values, or one of them is not a number, so that nobody knows their order.
    """
    if not values or any(math.isnan(value) for value in values):
        return None
    if stat == "mean":
        return sum(values) / len(values)
    if stat == "total":
        return float(sum(values))
    if stat == "last":
        return values[-1]
    ordered = sorted(values)
    if stat in ("min", "max"):
        return ordered[0 if stat == "min" else -1]
    rank = math.ceil(len(ordered) * float(stat.removeprefix("p")) / 100 - 1e-9)
    return ordered[max(0, rank - 1)]


def is_bulk(source: str, metric: str) -> bool:
    """Whether the analysis keeps the statistics of a number and not its values."""
    return source in _BULK_SOURCES or (source, metric) in _BULK_METRICS


def make_sampled_table(tracks: Tracks, phases: Sequence[PhaseRow] = ()) -> tuple[SampledRow, ...]:
    """One row for each number whose values the analysis does not keep, with the statistics of its samples.

    Samples of the warm-up do not count.
    """
    warmup = find_warmup(phases)
    from_s = inf if warmup is None else warmup.from_s
    rows = []
    for (source, obj, metric), track in sorted(tracks.items()):
        if is_bulk(source, metric):
            pairs = zip(track.at_s, track.values, strict=True)
            values = [value for at_s, value in pairs if not from_s <= at_s < 0]
            found = {stat: compute_statistic(values, stat) for stat in STATISTICS}
            known = {stat: value for stat, value in found.items() if value is not None}
            rows.append(SampledRow(source, obj, metric, len(values), known))
    return tuple(rows)
