"""Runs side by side: the same metrics of each, and whether a later one is worse than the first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stream2gym.analysis.tables import Analysis
from stream2gym.jsonable import Jsonable
from stream2gym.judge.measure import measure
from stream2gym.judge.measured import Events
from stream2gym.judge.verdict import Outcome, worst
from stream2gym.kinds.expectations import Expectation, parse_expectation

LOWER, HIGHER = "lower", "higher"
USUAL: tuple[tuple[str, str], ...] = (
    ("acknowledged", HIGHER), ("failed", LOWER), ("received", HIGHER), ("lost", LOWER), ("in_flight", LOWER),
    ("duplicated", LOWER), ("out_of_order", LOWER), ("delivered", HIGHER), ("throughput", HIGHER),
    ("throughput_bytes", HIGHER), ("delivery_rate", HIGHER), ("latency.p50", LOWER), ("latency.p99", LOWER),
    ("latency.p99.9", LOWER), ("ack_latency.p50", LOWER), ("ack_latency.p99", LOWER), ("sync_latency.p99", LOWER),
    ("trace_latency.p99", LOWER), ("startup", LOWER), ("cpu.max", LOWER), ("memory.max", LOWER),
    ("lateness.p99", LOWER),
)  # fmt: skip
_HIGHER_IS_BETTER = {text.partition(".")[0] for text, better in USUAL if better == HIGHER}


@dataclass(frozen=True)
class Compared(Jsonable):
    """One metric of every run; the first run is what the others are held against."""

    text: str
    better: str
    values: tuple[float | None, ...]
    shown: tuple[str, ...]
    change: tuple[float | None, ...] = ()  # against the first run, as a share; of the runs after it
    outcome: Outcome = "pass"


@dataclass(frozen=True)
class Comparison(Jsonable):
    runs: tuple[str, ...]
    rows: tuple[Compared, ...]
    outcome: Outcome
    untrusted: tuple[str, ...] = ()  # runs whose emulation did not keep up


Run = tuple[str, Analysis, Events]


def compare(runs: Sequence[Run], more: Sequence[str] = (), tolerance: float | None = None) -> Comparison:
    """Compare the usual metrics and ``more`` (``metric[.stat][(filters)]``); no tolerance: no judgement."""
    untrusted = tuple(name for name, analysis, _ in runs if analysis.fidelity.good is not True)
    wanted: list[tuple[str, str]] = [*USUAL, *((text, _better(text)) for text in more)]
    rows = []
    for text, better in wanted:
        row = _compare_one(text, better, runs)
        if any(value is not None for value in row.values):
            rows.append(_judge(row, tolerance, bool(untrusted)) if tolerance is not None else row)
    outcome = worst([row.outcome for row in rows])
    return Comparison(tuple(name for name, _, _ in runs), tuple(rows), outcome, untrusted)


def metric_of(text: str) -> Expectation:
    """A metric as expectations write it, without the comparison; ValueError says what is wrong with it."""
    for zero in ("0", "0 s", "0 %"):
        try:
            return parse_expectation(f"{text} >= {zero}")
        except ValueError as error:
            problem = error
    raise problem


def _better(text: str) -> Literal["lower", "higher"]:
    return "higher" if metric_of(text).metric in _HIGHER_IS_BETTER else "lower"


def _compare_one(text: str, better: str, runs: Sequence[Run]) -> Compared:
    wanted = metric_of(text)
    values: list[float | None] = []
    for _, analysis, events in runs:
        measured = measure(wanted, analysis, events)
        pick = min if better == HIGHER else max
        values.append(pick(measured.values.values()) if measured.values else None)
    unit = wanted.definition.unit
    shown = tuple("?" if value is None else _short(str(unit(_rounded(value)))) for value in values)
    change = tuple(_change(values[0], value) for value in values[1:])
    return Compared(text, better, tuple(values), shown, change)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}") if abs(value) < 1e4 else float(round(value))


def _short(text: str) -> str:
    number, space, unit = text.partition(" ")
    try:
        return f"{float(number):.6g}{space}{unit}"
    except ValueError:
        return text


def _change(first: float | None, value: float | None) -> float | None:
    """Relative to the first; from nothing to something is infinitely more."""
    if first is None or value is None:
        return None
    if first == 0:
        return 0.0 if value == 0 else float("inf")
    return value / first - 1


def _judge(row: Compared, tolerance: float, untrusted: bool) -> Compared:
    worse = [
        change
        for change in row.change
        if change is not None and (-change if row.better == HIGHER else change) > tolerance + 1e-12
    ]
    outcome: Outcome = "pass"
    if worse:
        about = metric_of(row.text).definition.about
        outcome = "unknown" if untrusted and about == "performance" else "fail"
    elif row.values[0] is not None and None in row.values:
        outcome = "unknown"
    return Compared(row.text, row.better, row.values, row.shown, row.change, outcome)
