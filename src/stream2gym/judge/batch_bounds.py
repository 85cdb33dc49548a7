"""What suspect time leaves open of the durations of an engine's batches. Pure.

A batch takes in what came while the batch before it ran. So it says nothing about the engine if suspect time overlaps
it or the batch before it: on a machine that kept up it might have been shorter or longer, and there might have been
several shorter ones in its place. All other batches count as they were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from statistics import median

from stream2gym.analysis.sample_statistics import compute_statistic

# When a batch ended, and how long it took, in seconds.
Batch = tuple[float, float]


def bound_batch_time(
    batches: Sequence[Batch], stat: str, is_suspect: Callable[[float, float], bool]
) -> tuple[float, float]:
    """The bounds of a statistic of the batches of one query.

    ``is_suspect`` says whether suspect time overlaps the time between two moments.
    """
    ordered = sorted(batches)
    begins = [end_s - took_s for end_s, took_s in ordered]
    clear: list[float] = []
    doubtful: list[float] = []
    for number, (end_s, took_s) in enumerate(ordered):
        (doubtful if is_suspect(begins[max(0, number - 1)], end_s) else clear).append(took_s)
    usual_s = median(clear) if clear else inf
    unknown = sum(max(1, round(took_s / usual_s)) if usual_s > 0 else 1 for took_s in doubtful)
    low = compute_statistic([*clear, *[0.0] * unknown], stat)
    high = compute_statistic([*clear, *[inf] * unknown], stat)
    return (0.0 if low is None else low, inf if high is None else high)
