"""Which half seconds of a run are suspect, that is, when the machine may have shaped what was measured. Pure.

A half second is suspect if packets left late, if samples are missing, if a device dropped packets, if a producer
of ours sent late although its client had room, or if threads of the run waited for a CPU. The half seconds after it
are suspect, too, until the backlog of that time is worked off.

What the experiment asked for does not make time suspect: hosts that reach their CPU limit, ``cpu`` faults, components
that a fault paused or restarted.

Suspect time is *mild* if packets left a little late and nothing else happened. Otherwise it is *severe*. Half seconds
are called cells here, and are numbered from the start of load.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import median

from stream2gym.analysis.result_tables import SuspectSpan
from stream2gym.analysis.thresholds import (
    BEHIND_S,
    ENOUGH_PACKETS,
    FEW_LATE,
    GAP_S,
    HALF_S,
    LATE_SHARE,
    USUAL_CELLS,
    VERY_LATE_S,
    WAIT_LEAST_S,
    WAIT_SHARE,
)
from stream2gym.analysis.time_series import Track

LATE = "packets left late"
VERY_LATE = f"packets left more than {VERY_LATE_S * 1e3:g} ms late"
GAP = "the machine left no time to sample"
DROPPED = "a device dropped packets"
NOT_SAMPLED = "nothing was sampled yet"
NO_LOOK = "a monitor that watches the machine saw nothing"
BACKLOG = "the backlog of that time was being worked off"

_WAITED = ("threads of ", " waited for a CPU")
_MOST_NAMES = 3

LatenessCounts = dict[float, float]  # packets by the upper bound of their lateness in seconds
Interval = tuple[float, float]  # from and to, in seconds


@dataclass
class Cells:
    """The half seconds of a run from ``first`` to ``last``, with the reasons that make them suspect."""

    first: int
    last: int
    reasons: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def between(cls, from_s: float, to_s: float) -> Cells:
        return cls(math.floor(from_s / HALF_S), max(math.floor(from_s / HALF_S), math.ceil(to_s / HALF_S) - 1))

    def mark(self, from_s: float, to_s: float, reason: str) -> None:
        """Make every half second suspect that overlaps this time."""
        first = max(self.first, math.floor(from_s / HALF_S + 1e-9))
        last = min(self.last, max(math.floor(from_s / HALF_S + 1e-9), math.ceil(to_s / HALF_S - 1e-9) - 1))
        for cell in range(first, last + 1):
            self.reasons[cell].add(reason)

    def is_severe(self, cell: int) -> bool:
        """Whether a half second is suspect for more than packets that left a little late."""
        return bool(self.reasons.get(cell, set()) - {LATE})

    def spans(self) -> tuple[SuspectSpan, ...]:
        """The suspect time. Neighbouring half seconds with the same reasons are one span."""
        found: list[SuspectSpan] = []
        for cell in sorted(cell for cell, reasons in self.reasons.items() if reasons):
            from_s, reasons = cell * HALF_S, tuple(sorted(self.reasons[cell]))
            last = found[-1] if found else None
            if last is not None and last.to_s == from_s and last.reasons == reasons:
                found[-1] = SuspectSpan(last.from_s, from_s + HALF_S, reasons, last.mild)
            else:
                found.append(SuspectSpan(from_s, from_s + HALF_S, reasons, not self.is_severe(cell)))
        return tuple(found)


def summarise_reasons(reasons: Iterable[str]) -> list[str]:
    """The different reasons, where all components that waited for a CPU are named in one."""
    head, tail = _WAITED
    found, waited = [], []
    for reason in dict.fromkeys(reasons):
        if reason.startswith(head) and reason.endswith(tail):
            waited.append(reason.removeprefix(head).removesuffix(tail))
        else:
            found.append(reason)
    if waited:
        names = ", ".join(waited[:_MOST_NAMES])
        more = f" and {len(waited) - _MOST_NAMES} more" if len(waited) > _MOST_NAMES else ""
        found.insert(0, f"{names}{more}".join(_WAITED))
    return found


# ---- samples


def mark_gaps(cells: Cells, sampled_s: Sequence[float], reason: str = GAP) -> None:
    """Mark the time between two samples that lie too far apart, and the time after the last sample."""
    end_s = (cells.last + 1) * HALF_S
    for before, after in pairwise([*sampled_s, end_s]):
        if after - before > GAP_S:
            cells.mark(before, after, reason)


def spread_counts(sampled_s: Sequence[float], counts: Mapping[float, float]) -> Iterator[tuple[int, float]]:
    """Spread each sampled count evenly over the time since the sample before, by half second."""
    for before, after in pairwise(sampled_s):
        count = counts.get(after)
        if not count or after <= before:
            continue
        first, last = math.floor(before / HALF_S), math.ceil(after / HALF_S) - 1
        for cell in range(first, last + 1):
            part = min(after, (cell + 1) * HALF_S) - max(before, cell * HALF_S)
            yield cell, count * part / (after - before)


def count_packets_by_cell(sampled_s: Sequence[float], buckets: Mapping[float, Track]) -> dict[int, LatenessCounts]:
    """The packets of every half second, counted by how late they left."""
    found: dict[int, LatenessCounts] = defaultdict(lambda: defaultdict(float))
    for bound_s, track in buckets.items():
        for cell, count in spread_counts(sampled_s, dict(zip(track.at_s, track.values, strict=True))):
            found[cell][bound_s] += count
    return found


def find_late_cells(packets: Mapping[int, LatenessCounts], limit_s: float) -> list[int]:
    """The half seconds in which more than one packet in a hundred left later than the limit.

    A few late packets may have been held up by one short pause of the machine. Then the share must also be exceeded
    in a longer time around them.
    """
    count = {cell: sum(buckets.values()) for cell, buckets in packets.items()}
    late = {cell: sum(n for bound_s, n in buckets.items() if bound_s > limit_s) for cell, buckets in packets.items()}
    found = []
    for cell in sorted(packets):
        if late[cell] <= LATE_SHARE * count[cell]:
            continue
        if late[cell] < FEW_LATE:
            first, last = _widen_to_enough(count, cell)
            cells = range(first, last + 1)
            if sum(late.get(c, 0.0) for c in cells) <= LATE_SHARE * sum(count.get(c, 0.0) for c in cells):
                continue
        found.append(cell)
    return found


def _widen_to_enough(count: Mapping[int, float], cell: int) -> tuple[int, int]:
    """The first and the last cell of the shortest time around a cell that has enough packets."""
    first, last, lowest, highest = cell, cell, min(count), max(count)
    total = count[cell]
    while total < ENOUGH_PACKETS and (first > lowest or last < highest):
        first, last = first - 1, last + 1
        total += count.get(first, 0.0) + count.get(last, 0.0)
    return first, last


def mark_late(cells: Cells, packets: Mapping[int, LatenessCounts], limit_s: float) -> None:
    """Mark the half seconds in which packets left late, or very late."""
    for reason, beyond_s in ((LATE, limit_s), (VERY_LATE, max(limit_s, VERY_LATE_S))):
        for cell in find_late_cells(packets, beyond_s):
            cells.mark(cell * HALF_S, (cell + 1) * HALF_S, reason)


def find_increments(track: Track) -> list[tuple[float, float, float]]:
    """What was added to a cumulative number between two samples, with the times of both.

    A number that is smaller than the one before began again at zero.
    """
    points = list(zip(track.at_s, track.values, strict=True))
    return [
        (before[0], after[0], after[1] - before[1] if after[1] >= before[1] else after[1])
        for before, after in pairwise(points)
        if after[0] > before[0]
    ]


def sum_by_cell(track: Track, began_at_zero: bool = False) -> dict[int, float]:
    """How much a cumulative number grew in every half second. ``began_at_zero``: the first sample is growth, too."""
    found: dict[int, float] = defaultdict(float)
    grown = find_increments(track)
    if began_at_zero and track.at_s:
        grown.insert(0, (track.at_s[0] - HALF_S, track.at_s[0], track.values[0]))
    for before, after, growth in grown:
        for cell, part in spread_counts((before, after), {after: growth}):
            found[cell] += part
    return found


def mark_drops(cells: Cells, drops: Iterable[Track], noticed_within_s: float = 0.0) -> None:
    """Mark the time in which devices dropped packets.

    The counters of many devices are read in turn. A drop may have happened ``noticed_within_s`` before the sample.
    """
    for track in drops:
        for before, after, growth in find_increments(track):
            if growth > 0:
                cells.mark(before - noticed_within_s, after, DROPPED)


def mark_waits(cells: Cells, component: str, waited: Track, used: Track, excused: Sequence[Interval]) -> None:
    """Mark the half seconds in which a component was starved of CPU, unless excused: see ``WAIT_SHARE``."""
    ran = sum_by_cell(used)
    for cell, wait_s in sum_by_cell(waited).items():
        wanted_s = wait_s + ran.get(cell, 0.0)
        asked = has_overlap(excused, cell * HALF_S, (cell + 1) * HALF_S)
        if wait_s >= WAIT_LEAST_S and wait_s > WAIT_SHARE * wanted_s and not asked:
            cells.mark(cell * HALF_S, (cell + 1) * HALF_S, component.join(_WAITED))


def has_overlap(spans: Iterable[Interval], from_s: float, to_s: float) -> bool:
    return any(start < to_s and end > from_s for start, end in spans)


def find_throttled(reached: Track) -> list[Interval]:
    """The time in which a host reached its CPU limit at least once.

    Then it had as much of the machine as the experiment gives it. A host that waits and never reaches its limit has
    less. Threads wait for the limit and for each other alike, so that nothing finer can be told.
    """
    return [(from_s, to_s) for from_s, to_s, times in find_increments(reached) if times > 0]


# ---- producers


@dataclass(frozen=True)
class SendDelay:
    """The longest delay between due and sent among the messages that a producer sent in a half second."""

    producer: str
    instance: int
    cell: int
    most_s: float


def mark_behind(
    cells: Cells,
    delays: Iterable[SendDelay],
    blocked: Mapping[int, float],
    excused: Sequence[Interval],
    name: str,
) -> None:
    """Mark the time in which one producer sent late, unless its client had no room or the experiment held it up.

    A producer that is late because the queue of its client was full stays excused until it has caught up.
    """
    has_excuse = False
    for delay in sorted(delays, key=lambda delay: delay.cell):
        if delay.most_s <= BEHIND_S:
            has_excuse = False
            continue
        from_s, to_s = delay.cell * HALF_S - delay.most_s, (delay.cell + 1) * HALF_S
        no_room = any(blocked.get(cell, 0.0) > 0 for cell in range(math.floor(from_s / HALF_S), delay.cell + 1))
        has_excuse = has_excuse or no_room or has_overlap(excused, from_s, to_s)
        if not has_excuse:
            cells.mark(max(from_s, 0.0), to_s, f"{name} sent late although its client had room")


# ---- the backlog of a suspect time


@dataclass(frozen=True)
class BacklogCurve:
    """Messages due and messages done by half second. A message that is due and never done is no backlog."""

    due: Mapping[int, int]
    done: Mapping[int, int]

    def waiting(self, first: int, last: int) -> list[float]:
        """The backlog at the end of every half second: messages that are due by then and are done later."""
        early = sum(n for c, n in self.due.items() if c < first) - sum(n for c, n in self.done.items() if c < first)
        steps = (self.due.get(cell, 0) - self.done.get(cell, 0) for cell in range(first, last + 1))
        open_ = list(accumulate(steps, initial=early))[1:]
        lowest_after = list(accumulate(reversed(open_), min))[::-1]
        return [now - lowest for now, lowest in zip(open_, lowest_after, strict=True)]

    @property
    def offer(self) -> float:
        """The median of the messages due in a half second."""
        return median(self.due.values()) if self.due else 0.0


def mark_backlog(cells: Cells, curves: Iterable[BacklogCurve]) -> None:
    """Mark the half seconds after severely suspect time in which the backlog is larger than before that time."""
    severe = [cells.is_severe(cell) for cell in range(cells.first, cells.last + 1)]
    marked = set()
    for curve in curves:
        waiting = curve.waiting(cells.first, cells.last)
        busy, allowed = False, 0.0
        for place, is_severe in enumerate(severe):
            if is_severe:
                if not busy:
                    before = waiting[max(0, place - USUAL_CELLS) : place]
                    busy, allowed = True, (median(before) if before else 0.0) + curve.offer
            elif busy:
                busy = waiting[place - 1] > allowed
                if busy:
                    marked.add(cells.first + place)
    for cell in marked:
        cells.mark(cell * HALF_S, (cell + 1) * HALF_S, BACKLOG)


# ---- in SQL


def overlap_sql(spans: Sequence[SuspectSpan], from_ns: str, to_ns: str) -> str:
    """Spark SQL that says whether the time between two columns overlaps severely suspect time.

    The SQL holds an array with the number of suspect half seconds before each half second, so that a row needs only
    two lookups.
    """
    severe = [span for span in spans if not span.mild]
    if not severe:
        return "false"
    first = min(math.floor(span.from_s / HALF_S) for span in severe)
    last = max(math.ceil(span.to_s / HALF_S) for span in severe)
    suspect = [0] * (last - first)
    for span in severe:
        for cell in range(math.floor(span.from_s / HALF_S), math.ceil(span.to_s / HALF_S)):
            suspect[cell - first] = 1
    before = ",".join(map(str, accumulate(suspect, initial=0)))
    half_ns = int(HALF_S * 1e9)
    counts = f"cast(split('{before}', ',') AS array<int>)"

    def up_to(cell: str) -> str:
        return f"element_at({counts}, cast(least(greatest({cell} - {first}, 0), {last - first}) AS int) + 1)"

    begun = f"cast(floor({from_ns} / {half_ns}) AS bigint)"
    ended = f"cast(floor({to_ns} / {half_ns}) AS bigint) + 1"
    return f"coalesce({up_to(ended)} > {up_to(begun)}, false)"
