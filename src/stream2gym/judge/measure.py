"""From an expectation to numbers: who measures which metric."""

from __future__ import annotations

import importlib

from stream2gym.analysis.tables import Analysis
from stream2gym.judge.delivery import DELIVERY
from stream2gym.judge.engines import ENGINES
from stream2gym.judge.measured import Events, Measured, Meter
from stream2gym.judge.performance import PERFORMANCE
from stream2gym.judge.recovery import OF_A_FAULT, RECOVERY
from stream2gym.kinds.expectations import Expectation
from stream2gym.kinds.metrics import Metric

METERS: dict[str, Meter] = DELIVERY | PERFORMANCE | ENGINES | RECOVERY


def measure(expectation: Expectation, analysis: Analysis, events: Events) -> Measured:
    """What the record says about the metric of an expectation."""
    metric = expectation.definition
    if metric.measure:
        return _plugged(metric)(expectation, analysis, events)
    attributed = "fault" in expectation.filters and metric.name in OF_A_FAULT
    meter = (OF_A_FAULT if attributed else METERS).get(metric.name)
    if meter is None:
        return Measured(why=f"nobody measured {metric.name} in this run")
    if "fault" in expectation.filters and not attributed and metric.name not in RECOVERY:
        return Measured(why=f"{metric.name} was not attributed to faults in this run")
    return meter(expectation, analysis, events)


def _plugged(metric: Metric) -> Meter:
    module, _, name = metric.measure.partition(":")
    meter: Meter = getattr(importlib.import_module(module), name)
    return meter
