"""When throughput was as before again, from counts of messages in short steps of time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import median

BEFORE_S = 5.0  # what counts as before a fault
SMOOTH_S = 1.0  # throughput is looked at over this time
RECOVERED = 0.95
LOWEST_BAR = 0.8  # however much it varied before
STAYS_S = 5.0  # as long as this it has to stay good
BLIP_S = 0.25  # a hiccup that was made up for so soon is none
DENSE = 3.0  # messages a step from which on an empty step is a sign of trouble

Counts = dict[int, int]  # messages by step


@dataclass(frozen=True)
class Recovery:
    """``recovery_s`` None: not within the time that was looked at; ``detection_s`` None: there was no dip."""

    before_per_s: float
    lowest_per_s: float
    recovery_s: float | None
    detection_s: float | None


@dataclass(frozen=True)
class Span:
    """A fault and the time it answers for, in seconds."""

    from_s: float
    to_s: float  # its end
    until_s: float
    sound_s: float | None = None  # what counts as before ends here; None: where the fault begins


def recover(counts: Counts, span: Span, step_s: float, offered_per_s: float = inf) -> Recovery | None:
    """When throughput was back at 95 % of before and stayed there; None without traffic before the fault.

    Looked at over a second that ends at each step: with the first steps of a fault that second still reaches back
    before it, so a dip shows up by and by, and is over when a whole second was good again.
    """
    wide = max(1, round(SMOOTH_S / step_s))
    first = int(span.from_s / step_s)
    sound = first if span.sound_s is None else int(span.sound_s / step_s)
    begin = max(0, sound - round(BEFORE_S / step_s))
    if sound - begin < wide:
        return None
    usual = _usual(counts, begin, sound, wide)
    usual = min(usual, offered_per_s * step_s * wide)  # what was caught up with is not the usual either
    if usual <= 0:
        return None
    wanted = _bar(counts, usual, begin, sound, wide)
    last = int(span.until_s / step_s)
    sums = _seconds(counts, first, last, wide)
    low = _dips([step for step, total in sums.items() if total < wanted], step_s)
    low = _of_the_fault(low, span.to_s, step_s)
    before_per_s, lowest = usual / (wide * step_s), min(sums.values(), default=0) / (wide * step_s)
    if not low:
        return Recovery(before_per_s, lowest, 0.0, None)
    over = low[-1] + 1
    # The second that ends at ``over`` is the first good one; the dip ended when that began, or with the last empty
    # step where a burst of what had waited made up for it.
    dense = usual >= DENSE * wide
    silent = [step for step in range(first, over) if not counts.get(step)] if dense else []
    good = max([over - wide + 1, *(step + 1 for step in silent[-1:])])
    back = None if over >= last else max(0.0, good * step_s - span.from_s)
    empty = next((step for step in range(first, low[0] + 1) if not counts.get(step)), low[0])
    return Recovery(before_per_s, lowest, back, max(0.0, empty * step_s - span.from_s))


def _usual(counts: Counts, begin: int, first: int, wide: int) -> float:
    """The middle one of the seconds before, so that a burst after an earlier fault does not raise the bar."""
    seconds = range(first - wide, begin - 1, -wide)
    return median(sum(counts.get(one, 0) for one in range(s, s + wide)) for s in seconds)


def _bar(counts: Counts, usual: float, begin: int, first: int, wide: int) -> float:
    """What a good second has: 95 % of the usual, or the least of the seconds before where they varied more.

    The first second of a load is no measure. One message may fall on the other side of an edge.
    """
    settled = max(begin, wide) + wide
    least = min(_seconds(counts, settled, first, wide).values(), default=inf)
    return max(LOWEST_BAR * usual, min(RECOVERED * usual, least)) - 1


def _seconds(counts: Counts, first: int, last: int, wide: int) -> dict[int, int]:
    """Messages of the second that ends with each step."""
    return {
        step: sum(counts.get(one, 0) for one in range(step - wide + 1, step + 1))
        for step in range(first, last)
    }


def _dips(low: list[int], step_s: float) -> list[int]:
    """The low steps without those of hiccups."""
    kept: list[int] = []
    stretch: list[int] = []
    for step in [*low, None]:
        if stretch and step != stretch[-1] + 1:
            kept += stretch if len(stretch) * step_s >= BLIP_S else []
            stretch = []
        if step is not None:
            stretch.append(step)
    return kept


def _of_the_fault(low: list[int], to_s: float, step_s: float) -> list[int]:
    """The low steps up to where all was good for a while after the fault: what comes later is not its doing."""
    stays = round(STAYS_S / step_s)
    reach = int(to_s / step_s) + stays
    for number, step in enumerate(low):
        if step > reach:
            return low[:number]
        reach = max(reach, step + stays)
    return low
