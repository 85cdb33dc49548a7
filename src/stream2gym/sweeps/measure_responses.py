"""Measures the responses of one run with the meters of the judge, with the bounds that the machine leaves open."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.best_case import WidenedMeasurement, widen
from stream2gym.judge.compare import parse_metric
from stream2gym.judge.estimate import Estimate
from stream2gym.judge.measurement import Events
from stream2gym.judge.meters import measure
from stream2gym.sweeps.point import MeasuredResponse, WantedResponse


def measure_responses(
    responses: Sequence[WantedResponse], analysis: Analysis, events: Events
) -> tuple[MeasuredResponse, ...]:
    """All responses of a run. A response without a value has one row that says why. Never raises."""
    return tuple(row for wanted in responses for row in _measure_response(wanted, analysis, events))


def _measure_response(wanted: WantedResponse, analysis: Analysis, events: Events) -> list[MeasuredResponse]:
    try:
        expectation = parse_metric(wanted.metric)
        plain = measure(expectation, analysis, events)
        is_of_system = wanted.about == "system"
        widened = widen(expectation, plain, analysis, events) if is_of_system else WidenedMeasurement(plain)
        scaled = {item: _scale(one, wanted.scale) for item, one in widened.measured.estimates().items()}
        estimates = combine_estimates(wanted.combine, scaled)
    except Exception as error:  # a meter that fails must not look like a value
        why = f"the measurement itself failed: {type(error).__name__}: {error}"
        return [MeasuredResponse(wanted.name, reason=why)]
    if not estimates:
        return [MeasuredResponse(wanted.name, reason=plain.why or widened.why or "no rows")]
    is_open = not all(one.is_exact for one in plain.estimates().values())
    reason = "; ".join(filter(None, (plain.why if is_open else "", widened.why)))
    return [
        MeasuredResponse(
            wanted.name, item, one.measured, one.low, one.high, "" if one.is_exact else reason, wanted.unit
        )
        for item, one in estimates.items()
    ]


def _scale(one: Estimate, factor: float) -> Estimate:
    return one if factor == 1.0 else Estimate(one.measured * factor, one.low * factor, one.high * factor)


def combine_estimates(how: str, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """One estimate of several, or each of them. The bounds of the result hold whatever the truth of each is."""
    if how == "each" or not estimates:
        return estimates
    several = list(estimates.values())
    measured, low, high = ([getattr(one, name) for one in several] for name in ("measured", "low", "high"))
    match how:
        case "sum":
            combined = Estimate(sum(measured), sum(low), sum(high))
        case "max":
            combined = Estimate(max(measured), max(low), max(high))
        case "min":
            combined = Estimate(min(measured), min(low), min(high))
        case "spread":
            least = max(1.0, _divide(max(low), min(high)))
            combined = Estimate(_divide(max(measured), min(measured)), least, _divide(max(high), min(low)))
        case _:
            raise ValueError(f"unknown combination {how!r}")
    return {"": combined}


def _divide(number: float, by: float) -> float:
    if by == 0:
        return 1.0 if number == 0 else math.inf
    return number / by
