"""The sampled numbers of a run over time. There are few, one in a half second each, so that no Spark is needed."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow.parquet as pq

from stream2gym.analysis.inputs import Inputs

PACE_S = 0.5  # between two samples of a monitor; a counter that has not changed is not recorded again


@dataclass
class Track:
    """One number over time."""

    at_s: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def last(self, at_s: float) -> float | None:
        """The value as it stood at a time; None before the first sample."""
        place = bisect_right(self.at_s, at_s)
        return None if place == 0 else self.values[place - 1]

    def counter(self, at_s: float) -> float:
        """A cumulative number at a time. It is 0 before the first sample, and grows evenly in the time before a
        sample."""
        place = bisect_right(self.at_s, at_s)
        before = self.values[place - 1] if place else 0.0
        if place == len(self.at_s):
            return before
        since_s = max(self.at_s[place] - PACE_S, self.at_s[place - 1] if place else -1e18)
        if at_s <= since_s:
            return before
        return before + (self.values[place] - before) * (at_s - since_s) / (self.at_s[place] - since_s)

    def highest_since(self, from_s: float, to_s: float) -> float | None:
        """What a number that never falls, such as a maximum, rose to in this time; None if it did not rise."""
        before, after = self.last(from_s), self.last(to_s)
        return after if after is not None and (before is None or after > before) else None

    def growth(self, from_s: float, to_s: float) -> float:
        return self.counter(to_s) - self.counter(from_s)

    def between(self, from_s: float, to_s: float) -> Iterator[tuple[float, float]]:
        for at_s, value in zip(self.at_s, self.values, strict=True):
            if from_s <= at_s <= to_s:
                yield at_s, value


Tracks = dict[tuple[str, str, str], Track]  # by source, object, metric


def read_tracks(inputs: Inputs) -> Tracks:
    """Every number of the samples table over time."""
    tracks: Tracks = {}
    if not inputs.rows.get("samples"):
        return tracks
    rows = pq.read_table(inputs.table("samples")).sort_by("at_ns")
    for batch in rows.to_batches():
        columns = (batch.column(name).to_pylist() for name in ("at_ns", "source", "object", "metric", "value"))
        for at_ns, source, obj, metric, value in zip(*columns, strict=True):
            track = tracks.get((source, obj, metric))
            if track is None:
                track = tracks[source, obj, metric] = Track()
            track.at_s.append(at_ns / 1e9)
            track.values.append(value)
    return tracks


def steps(inputs: Inputs) -> list[tuple[float, float]]:
    """The time steps of the load, each with its beginning and its end."""
    count = max(1, int(-(-inputs.load_s // inputs.step_s)))
    edges = [min(number * inputs.step_s, inputs.load_s) for number in range(count + 1)]
    return list(pairwise(edges))
