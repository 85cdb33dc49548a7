"""Which monitors saw nothing for a while, and what that leaves open of the numbers that they sampled. Pure.

A monitor that failed or hung is an event of the run, and so is its return. What happened in between was not sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from math import inf

from stream2gym.analysis.thresholds import GAP_S
from stream2gym.judge.measurement import Events, Measurement

ENGINE = "engine "
# The sources of samples about the progress of engines.
PROGRESS_SOURCES = ("spark", "flink", "kafka-streams")
# The watch of the brokers, which tells leaders, in-sync replicas and the controller.
LEADERSHIP = "leadership"


def find_silent_monitors(events: Events) -> dict[str, str]:
    """The monitors that saw nothing for longer than a gap between samples may be, each with the reason."""
    silent: dict[str, str] = {}
    failed: dict[str, str] = {}
    for event in events:
        name = str(event.get("monitor"))
        if event.get("event") == "monitor-failed":
            failed[name] = str(event.get("reason"))
        elif event.get("event") == "monitor-works-again":
            reason = failed.pop(name, "")
            if float(event.get("silent_s", inf)) > GAP_S:
                silent[name] = reason
    return silent | failed


def find_unwatched_engines(events: Events) -> list[str]:
    """The engines whose monitor failed for good. One that returns reads what it has missed in the engine's log."""
    unwatched: dict[str, None] = {}
    for event in events:
        name = str(event.get("monitor", ""))
        if name.startswith(ENGINE) and event.get("event") == "monitor-failed":
            unwatched[name.removeprefix(ENGINE)] = None
        elif event.get("event") == "monitor-works-again":
            unwatched.pop(name.removeprefix(ENGINE), None)
    return list(unwatched)


def samples_come_from(monitor: str, source: str, objects: Iterable[str]) -> bool:
    """Whether samples of these objects, whose source fits a pattern, may come from a monitor.

    The monitor of an engine has the name of the engine, and its samples have the name of what the engine is.
    """
    engine = monitor.removeprefix(ENGINE)
    is_engine = engine != monitor and any(fnmatchcase(one, source) for one in PROGRESS_SOURCES)
    return fnmatchcase(monitor, source) or (
        is_engine and any(obj == engine or obj.startswith(f"{engine}.") for obj in objects)
    )


def widen_by_silence(
    measured: Measurement, stat: str, events: Events, is_source: Callable[[str], bool]
) -> Measurement:
    """The measurement with bounds that hold what a silent monitor may have missed.

    ``is_source`` says for the name of a monitor whether the figure rests on its samples.
    """
    silent = {name: reason for name, reason in find_silent_monitors(events).items() if is_source(name)}
    if not silent or not measured.values:
        return measured
    name, reason = next(iter(silent.items()))
    why = f"the monitor {name} saw nothing for a while: {reason}"
    bounds = {
        key: (value if stat == "max" else -inf, value if stat == "min" else inf)
        for key, value in measured.values.items()
    }
    return replace(measured, bounds=bounds, why=why)


def add_missed_changes(measured: Measurement, events: Events) -> Measurement:
    """A count of changes of the cluster, without an upper bound where nobody watched for a while."""
    reason = find_silent_monitors(events).get(LEADERSHIP)
    if reason is None or not measured.values:
        return measured
    return replace(measured, doubt=inf, why=f"nobody watched the brokers for a while: {reason}")
