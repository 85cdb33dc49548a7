"""When a topic had recovered from a fault, decided from counts of its messages in short steps of time. Pure.

The *debt* at a moment is the number of messages that were due by then and are neither delivered, nor failed, nor
known to be lost. The *undisturbed time* of a fault is the time before it in which no other fault was at work, at most
five seconds. The *usual debt* is the median of the debt in the undisturbed time.

A step is *calm* if the debt at its end exceeds the usual debt by no more than the messages that one step offers.
A fault *disturbed* the topic at the first step that is not calm. The topic has recovered at the first step after that
from which on every step is calm for two seconds, or until the drain ended.

The debt can be low although nothing works, so a calm step has two more conditions. Messages must not fail as fast as
they are due. A flow without a schedule, which owes nothing while it is silent, must have its earlier rate again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from statistics import median

# The longest undisturbed time that a fault is compared with, and the shortest that is enough.
BEFORE_S = 5.0
LEAST_BEFORE_S = 1.0
# How long every step has to be calm.
STAYS_S = 2.0
# A disturbance that begins later than this after the end of a fault is not attributed to the fault.
REACH_S = 5.0
# A rate is counted over this time. It is back when it reaches this share of its median before the fault.
RATE_OVER_S = 1.0
RATE_BACK = 0.9
# A rate is too uneven to compare with when its poorest second before the fault had less than this share of the
# median.
LEAST_EVEN = 0.5

NOTHING_OFFERED = "nothing was offered between the fault and the next one or the end of the drain"
NOTHING_BEFORE = "there was no undisturbed second of load before the fault"
UNEVEN = "what came before the fault was too uneven to compare with"

Counts = Mapping[int, int]  # messages by step; step n is the time from n * step_s to (n + 1) * step_s


@dataclass(frozen=True)
class DebtCurve:
    """Counts of the messages of one topic to one group, by step. Without a group, *delivered* means acknowledged.

    ``rate`` counts the messages of a flow without a schedule; it is empty for a flow with one. The writers of that
    flow were done at the step ``rate_ends``, after which no rate is expected. None: they were never done.
    """

    due: Counts = field(default_factory=dict)
    # Messages by the step in which they were delivered, failed or were known to be lost.
    settled: Counts = field(default_factory=dict)
    # Messages that failed, by the step in which they were due.
    failed: Counts = field(default_factory=dict)
    rate: Counts = field(default_factory=dict)
    rate_ends: int | None = None


@dataclass(frozen=True)
class FaultPeriod:
    """The time that a fault answers for, and the undisturbed time before it, in seconds."""

    from_s: float
    # When the fault was undone. None: it never was.
    to_s: float | None
    # When the next fault began or, for the last fault, when the drain ended.
    until_s: float
    undisturbed_until_s: float
    is_last: bool = True
    undisturbed_since_s: float = -inf

    def steps(self, step_s: float) -> range:
        """The steps that the fault answers for. A step that the next fault shares is not one of them."""
        last = -int(-self.until_s // step_s) if self.is_last else int(self.until_s / step_s + 1e-9)
        return range(int(self.from_s / step_s + 1e-9), last)

    def undisturbed_steps(self, curve: DebtCurve, step_s: float) -> range:
        """The steps of the undisturbed time, as far as there was load."""
        end = int(self.undisturbed_until_s / step_s + 1e-9)
        started = min([end, *curve.due, *curve.rate])
        since = started if self.undisturbed_since_s == -inf else -int(-self.undisturbed_since_s // step_s)
        return range(max(started, since, end - round(BEFORE_S / step_s)), end)


@dataclass(frozen=True)
class Recovery:
    """How long a topic took to recover, counted from the beginning of the fault.

    ``recovery_s`` None: there is no such figure, and ``why`` says why. ``is_open``: it took at least ``recovery_s``.
    ``detection_s`` is the time until the disturbance began. None: there was none.
    """

    recovery_s: float | None
    is_open: bool = False
    detection_s: float | None = None
    why: str = ""


@dataclass(frozen=True)
class _Usual:
    """What a curve was like in the undisturbed time."""

    debt: float
    # Messages due in a step.
    offer: float
    # How many steps make a second.
    second: int
    # The messages that a second of the rate must have, and the longest pause of the rate in steps.
    least_rate: float
    longest_pause: int
    # The step after the last one in which a message was due.
    sending_ends: int

    def is_calm(self, curve: DebtCurve, debt: int, step: int, end: int) -> bool:
        """Whether a step was as usual: the debt at its end, the failures of the following second, and the rate."""
        room = max(1.0, self.offer, curve.due.get(step, 0), curve.due.get(step - 1, 0))
        look = min(step, self.sending_ends - self.second)
        failures = sum(curve.failed.get(one, 0) for one in range(look, look + self.second))
        return debt <= self.debt + room and failures <= room and self._has_rate(curve, step, end)

    def _has_rate(self, curve: DebtCurve, step: int, end: int) -> bool:
        """Whether the second that begins with this step has its usual rate, as far as the writers went on.

        The second must not begin with a longer pause than usual: a burst after a silence would hide the silence.
        """
        if not curve.rate:
            return True
        rate_ends = min(end, step + self.second, end if curve.rate_ends is None else curve.rate_ends)
        if rate_ends <= step:
            return True
        pause = range(step, step + self.longest_pause + 1)
        if rate_ends - step > self.longest_pause and not any(curve.rate.get(one) for one in pause):
            return False
        least = self.least_rate * (rate_ends - step) / self.second
        return sum(curve.rate.get(one, 0) for one in range(step, rate_ends)) >= least


def find_recovery(curve: DebtCurve, period: FaultPeriod, step_s: float) -> Recovery:
    """When the messages of a curve had recovered from a fault."""
    steps = period.steps(step_s)
    if not was_offered(curve, steps):
        return Recovery(None, why=NOTHING_OFFERED)
    before = period.undisturbed_steps(curve, step_s)
    if not is_long_enough(before, step_s):
        return _find_recovery_without_before(curve, period, step_s)
    least_rates = _find_least_rates(curve.rate, before, max(1, round(RATE_OVER_S / step_s)))
    if least_rates is None:
        return Recovery(None, why=UNEVEN)
    found = [_find_recovery_at_rate(curve, period, step_s, before, rate) for rate in least_rates]
    if all(one == found[0] for one in found):
        return found[0]
    # With the rate of the poorest second it took at least so long. Nobody knows when an uneven rate is back for good.
    return Recovery(found[0].recovery_s, True, found[-1].detection_s)


def _find_recovery_at_rate(
    curve: DebtCurve, period: FaultPeriod, step_s: float, before: range, least_rate: float
) -> Recovery:
    """When the messages of a curve had recovered, if a rate is back as soon as a second has so many messages."""
    steps = period.steps(step_s)
    second = max(1, round(RATE_OVER_S / step_s))
    debts = cumulate(curve.due, curve.settled, before.start, steps.stop)
    usual = _Usual(
        debt=median(debts[step] for step in before),
        offer=sum(curve.due.get(step, 0) for step in before) / len(before),
        second=second,
        least_rate=least_rate,
        longest_pause=max(measure_empty_runs(curve.rate, before), default=0),
        sending_ends=max((step for step, number in curve.due.items() if number), default=steps.stop) + 1,
    )
    calm = {step: usual.is_calm(curve, debts[step], step, steps.stop) for step in steps}
    disturbed = find_first_disturbed(calm, period, step_s)
    if disturbed is None:
        return Recovery(0.0)
    began = _find_beginning(curve, debts, usual, steps.start, disturbed)
    detection_s = max(0.0, began * step_s - period.from_s)
    recovered = find_lasting_calm(calm, disturbed, period, step_s)
    if recovered is None:
        return Recovery(period.until_s - period.from_s, True, detection_s)
    return Recovery((recovered + 1) * step_s - period.from_s, False, detection_s)


def _find_recovery_without_before(curve: DebtCurve, period: FaultPeriod, step_s: float) -> Recovery:
    """What is known without an undisturbed time: only whether anything was delivered at all."""
    steps = period.steps(step_s)
    settled = sum(curve.settled.get(step, 0) for step in steps)
    failed = sum(curve.failed.get(step, 0) for step in steps)
    if settled > failed or any(curve.rate.get(step) for step in steps):
        return Recovery(None, why=NOTHING_BEFORE)
    return Recovery(period.until_s - period.from_s, True, 0.0)


def is_long_enough(before: range, step_s: float) -> bool:
    """Whether the steps of an undisturbed time are enough to compare with."""
    return len(before) * step_s >= LEAST_BEFORE_S - step_s / 2


def was_offered(curve: DebtCurve, steps: range) -> bool:
    """Whether there was anything to deliver in these steps: messages due, or a flow without a schedule."""
    if any(number for step, number in curve.due.items() if step in steps):
        return True
    return bool(curve.rate) and (curve.rate_ends is None or curve.rate_ends > steps.start)


def cumulate(more: Counts, less: Counts, first: int, end: int) -> dict[int, int]:
    """The sum of ``more`` minus the sum of ``less`` at the end of every step from ``first`` to before ``end``."""
    level = sum(number for step, number in more.items() if step < first)
    level -= sum(number for step, number in less.items() if step < first)
    levels = {}
    for step in range(first, end):
        level += more.get(step, 0) - less.get(step, 0)
        levels[step] = level
    return levels


def find_first_disturbed(calm: Mapping[int, bool], period: FaultPeriod, step_s: float) -> int | None:
    """The first step that was not calm. None: there is none, or it came too late to be attributed to the fault."""
    disturbed = next((step for step in sorted(calm) if not calm[step]), None)
    is_late = disturbed is not None and period.to_s is not None and disturbed * step_s > period.to_s + REACH_S
    return None if is_late else disturbed


def find_lasting_calm(calm: Mapping[int, bool], disturbed: int, period: FaultPeriod, step_s: float) -> int | None:
    """The first step from ``disturbed`` on after which it was calm long enough, or until the drain ended."""
    stays = max(1, round(STAYS_S / step_s))
    since: int | None = None
    for step in range(disturbed, max(calm) + 1):
        if not calm[step]:
            since = None
        elif since is None:
            since = step
        if since is not None and step - since >= stays:
            return since
    return since if period.is_last else None


def measure_empty_runs(counts: Counts, steps: range) -> list[int]:
    """The lengths of the runs of steps without messages."""
    found, run = [], 0
    for step in steps:
        if counts.get(step):
            found.append(run)
            run = 0
        else:
            run += 1
    return [length for length in [*found, run] if length]


def sum_counts(many: Iterable[Counts]) -> dict[int, int]:
    """The sum of several counts, step by step."""
    summed: dict[int, int] = defaultdict(int)
    for counts in many:
        for step, number in counts.items():
            summed[step] += number
    return dict(summed)


def compute_rates(counts: Counts, steps: range, step_s: float) -> list[float]:
    """Messages a second in each whole second that begins with one of the steps."""
    second = max(1, round(RATE_OVER_S / step_s))
    return [number / (second * step_s) for number in _sum_seconds(counts, steps, second)]


def _sum_seconds(counts: Counts, steps: range, second: int) -> list[int]:
    starts = range(steps.start, steps.stop - second + 1)
    return [sum(counts.get(one, 0) for one in range(step, step + second)) for step in starts]


def _find_least_rates(rate: Counts, before: range, second: int) -> list[float] | None:
    """The messages that a second must have for the rate to be back: ninety per cent of the median before the fault.

    Where the poorest second of that time had less, nobody can tell a poor second from a disturbed one, and the number
    of the poorest second comes first. 0: there is no rate to look at. None: the rate varied too much to tell.
    """
    if not rate:
        return [0.0]
    sums = _sum_seconds(rate, before, second)
    usual, least = median(sums), min(sums)
    if usual <= 0 or least < LEAST_EVEN * usual:
        return None
    return [RATE_BACK * usual] if least >= RATE_BACK * usual else [least, RATE_BACK * usual]


def _find_beginning(curve: DebtCurve, debts: Mapping[int, int], usual: _Usual, first: int, disturbed: int) -> int:
    """The step in which the disturbance began: the debt began to grow, messages to fail, or the rate to fall."""
    if debts[disturbed] > usual.debt + max(1.0, usual.offer):
        return next((step + 1 for step in range(disturbed - 1, first - 1, -1) if debts[step] <= usual.debt), first)
    second = range(disturbed, disturbed + usual.second)
    failing = next((step for step in second if curve.failed.get(step)), None)
    if failing is not None or not curve.rate:
        return disturbed if failing is None else failing
    a_step = usual.least_rate / usual.second
    poor = (step for step in second if curve.rate.get(step, 0) < a_step / 2)
    return next(poor, disturbed + usual.second // 2)
