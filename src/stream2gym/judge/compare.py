"""Compares runs: the same metrics of each, and whether a later run is worse than the first. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stream2gym.analysis.result_tables import Analysis
from stream2gym.jsonable import Jsonable
from stream2gym.judge.best_case import widen
from stream2gym.judge.estimate import Estimate
from stream2gym.judge.measurement import Events
from stream2gym.judge.meters import measure
from stream2gym.judge.verdict import Outcome, pick_worst
from stream2gym.kinds.expectation_grammar import Expectation, parse_expectation

LOWER, HIGHER = "lower", "higher"
USUAL: tuple[tuple[str, str], ...] = (
    ("acknowledged", HIGHER), ("failed", LOWER), ("received", HIGHER), ("lost", LOWER), ("in_flight", LOWER),
    ("duplicated", LOWER), ("out_of_order", LOWER), ("delivered", HIGHER), ("throughput", HIGHER),
    ("throughput_bytes", HIGHER), ("delivery_rate", HIGHER), ("latency.p50", LOWER), ("latency.p99", LOWER),
    ("latency.p99.9", LOWER), ("ack_latency.p50", LOWER), ("ack_latency.p99", LOWER), ("sync_latency.p99", LOWER),
    ("trace_latency.p99", LOWER), ("latency_sent.p50", LOWER), ("latency_sent.p99", LOWER),
    ("startup", LOWER), ("cpu.max", LOWER), ("memory.max", LOWER),
    ("lateness.p99", LOWER),
)  # fmt: skip
_HIGHER_IS_BETTER = {text.partition(".")[0] for text, better in USUAL if better == HIGHER}


@dataclass(frozen=True)
class ComparedMetric(Jsonable):
    """One metric of every run. The first run is what the others are compared with."""

    text: str
    better: str
    values: tuple[float | None, ...]
    shown: tuple[str, ...]
    change: tuple[float | None, ...] = ()  # against the first run, as a share; of the runs after it
    # The truth of every run lies between these two; None: there is no figure.
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    outcome: Outcome = "pass"


@dataclass(frozen=True)
class Comparison(Jsonable):
    runs: tuple[str, ...]
    rows: tuple[ComparedMetric, ...]
    outcome: Outcome
    untrusted: tuple[str, ...] = ()  # runs in which the machine did not keep up


Run = tuple[str, Analysis, Events]
# The truth lies between the two. None: there is no figure.
Bounds = tuple[float | None, float | None]


def compare(runs: Sequence[Run], more: Sequence[str] = (), tolerance: float | None = None) -> Comparison:
    """Compare the usual metrics and ``more`` (``metric[.stat][(filters)]``). Without a tolerance nothing is
    judged."""
    untrusted = tuple(name for name, analysis, _ in runs if analysis.fidelity.good is not True)
    wanted: list[tuple[str, str]] = [*USUAL, *((text, find_better(text)) for text in more)]
    rows = []
    for text, better in wanted:
        row = _compare_one(text, better, runs)
        if text in more or any(value is not None for value in row.values):
            rows.append(_judge(row, tolerance, text in more) if tolerance is not None else row)
    outcome = pick_worst([row.outcome for row in rows])
    return Comparison(tuple(name for name, _, _ in runs), tuple(rows), outcome, untrusted)


def parse_metric(text: str) -> Expectation:
    """Parse a metric as expectations write it, without the comparison. Raises ValueError."""
    # One of these is of the metric's unit. A bandwidth of 0 is refused.
    for quantity in ("0", "0 s", "0 %", "1 bps"):
        try:
            return parse_expectation(f"{text} >= {quantity}")
        except ValueError as error:
            problem = error
    raise problem


def find_better(text: str) -> Literal["lower", "higher"]:
    """Whether higher or lower values of a metric are better."""
    return "higher" if parse_metric(text).metric in _HIGHER_IS_BETTER else "lower"


def _compare_one(text: str, better: str, runs: Sequence[Run]) -> ComparedMetric:
    wanted = parse_metric(text)
    figures = [_find_worst(_measure_all(wanted, analysis, events), better) for _, analysis, events in runs]
    values = [None if figure is None else figure.measured for figure in figures]
    low = tuple(None if figure is None else figure.low for figure in figures)
    high = tuple(None if figure is None else figure.high for figure in figures)
    unit = wanted.definition.unit
    shown = tuple("?" if value is None else _shorten(str(unit(_round(value)))) for value in values)
    change = tuple(compute_change(values[0], value) for value in values[1:])
    return ComparedMetric(text, better, tuple(values), shown, change, low, high)


def _measure_all(wanted: Expectation, analysis: Analysis, events: Events) -> list[Estimate]:
    """All values of a metric in one run; none where the metric of a plug-in fails."""
    try:
        return [*widen(wanted, measure(wanted, analysis, events), analysis, events).measured.estimates().values()]
    except (Exception, SystemExit):
        return []


def _find_worst(estimates: Sequence[Estimate], better: str) -> Estimate | None:
    """The worst value of a metric that has several. Any of them may be the worst, so each bound is the worst one."""
    if not estimates:
        return None
    pick = min if better == HIGHER else max
    return Estimate(
        *(pick(ends) for ends in zip(*((one.measured, one.low, one.high) for one in estimates), strict=True))
    )


def _round(value: float) -> float:
    if not math.isfinite(value):
        return value
    return float(f"{value:.4g}") if abs(value) < 1e4 else float(round(value))


def _shorten(text: str) -> str:
    number, space, unit = text.partition(" ")
    try:
        return f"{float(number):.6g}{space}{unit}"
    except ValueError:
        return text


def compute_change(first: float | None, value: float | None) -> float | None:
    """The change from the first value, as a share of it. From zero to anything it is infinite.

    None: there is no figure to compare, or no bound to compare with.
    """
    if first is None or value is None or first == -math.inf:
        return None
    if first == value:
        return 0.0
    if math.isinf(first):
        return -1.0
    if first == 0:
        return math.copysign(math.inf, value)
    return (value - first) / abs(first)


def _judge(row: ComparedMetric, tolerance: float, asked: bool) -> ComparedMetric:
    """Judge the later runs against the first. A metric that the first lacks is not judged unless the user ``asked``
    for it."""
    if row.values[0] is None and not asked:
        return row
    first, *later = zip(row.low, row.high, strict=True)
    return replace(row, outcome=pick_worst([judge_change(first, one, row.better, tolerance) for one in later]))


def judge_change(before: Bounds, after: Bounds, better: str, tolerance: float) -> Outcome:
    """Judge whether a figure became worse by more than the tolerance, wherever within their bounds the truths are.

    It fails if it did in any case, passes if it did in none, and is unknown otherwise, or without a figure.
    """
    if None in (*before, *after):
        return "unknown"
    least, most = compute_change(before[1], after[0]), compute_change(before[0], after[1])
    certain, possible = (most, least) if better == HIGHER else (least, most)
    if is_worse(certain, better, tolerance):
        return "fail"
    return "unknown" if possible is None or is_worse(possible, better, tolerance) else "pass"


def is_worse(change: float | None, better: str, tolerance: float) -> bool:
    """Whether a change, as a share, is one to the worse by more than the tolerance."""
    return change is not None and (-change if better == HIGHER else change) > tolerance + 1e-12
