"""Which meter measures which metric, and the measurement of an expectation."""

from __future__ import annotations

import importlib
from dataclasses import replace
from math import inf

from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.delivery_metrics import DELIVERY
from stream2gym.judge.engine_metrics import ENGINES
from stream2gym.judge.fault_metrics import OF_A_FAULT, RECOVERY
from stream2gym.judge.measurement import Events, Measurement, Meter
from stream2gym.judge.performance_metrics import PERFORMANCE
from stream2gym.judge.unobserved import join_reasons
from stream2gym.kinds.expectation_grammar import Expectation
from stream2gym.kinds.metrics import Metric

METERS: dict[str, Meter] = DELIVERY | PERFORMANCE | ENGINES | RECOVERY


def measure(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    """What the record says about the metric of an expectation."""
    metric = expectation.definition
    if metric.about == "performance" and (why := _find_unenforced_limit(events)):
        return Measurement(why=why)
    if metric.measure:
        return _load_plugin_meter(metric)(expectation, analysis, events)
    attributed = "fault" in expectation.filters and metric.name in OF_A_FAULT
    meter = (OF_A_FAULT if attributed else METERS).get(metric.name)
    if meter is None:
        return Measurement(why=f"nobody measured {metric.name} in this run")
    if "fault" in expectation.filters and not attributed and metric.name not in RECOVERY:
        return Measurement(why=f"{metric.name} was not attributed to faults in this run")
    measured = meter(expectation, analysis, events)
    return _add_doubt_of_whole(expectation, measured, analysis, events) if attributed else measured


def _find_unenforced_limit(events: Events) -> str:
    """Why figures of performance are not those of the experiment: a CPU limit of a host was not in force."""
    found = (event for event in events if event.get("event") == "warning" and event.get("unenforced") == "cpu")
    return next((f"not measurable here: {event.get('what')}" for event in found), "")


def _add_doubt_of_whole(
    expectation: Expectation, measured: Measurement, analysis: Analysis, events: Events
) -> Measurement:
    """A figure of one fault with the doubt about the whole run, because any fault may have cost what nobody
    observed."""
    if expectation.metric not in DELIVERY or not measured.values:
        return measured
    filters = {name: wanted for name, wanted in expectation.filters.items() if name != "fault"}
    whole = DELIVERY[expectation.metric](replace(expectation, filters=filters), analysis, events)
    # What a trace tells is attributed to no fault, so that all of it may be the fault's.
    spreads = {name: one.high - (0.0 if name else one.measured) for name, one in whole.estimates().items()}
    traced = [f"what became of messages from {name} is attributed to no fault" for name in spreads if name]
    why = measured.why or join_reasons([whole.why, *(traced if any(spreads.values()) else ())])
    return replace(measured, doubt=measured.doubt + max(spreads.values(), default=inf), why=why)


def _load_plugin_meter(metric: Metric) -> Meter:
    module, _, name = metric.measure.partition(":")
    meter: Meter = getattr(importlib.import_module(module), name)
    return meter
