"""The record of a run as it was at each moment: components, faults, leaders, links and numbers.

``RunStory`` takes increments of the record as they come, from a run that goes on or from one that is over, and keeps
what a snapshot needs. It is bounded: the latest events, and numbers in buckets.
"""

from __future__ import annotations

import contextlib
import json
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from stream2gym.analysis.job_history import find_job
from stream2gym.components.cluster import node_ids
from stream2gym.errors import BadInput, Mistake
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Experiment
from stream2gym.web.job_changes import JobChanges
from stream2gym.web.message_preview import MessagePreview
from stream2gym.web.record_tail import Increment
from stream2gym.web.time_buckets import Key, TimeBuckets

MOST_EVENTS = 20_000
MOST_STEPS = 5_000
# Values that are kept of each topic, and numbers that are taken from one value.
MOST_VALUES = 5_000
MOST_FIELDS = 12
# Counters that grow from the start of a run: what is shown is how fast they grow.
COUNTERS = frozenset(
    ("cpu_s", "cpu_wait_s", "blocked_s", "pressure_s", "run_delay_s", "steal_s", "limit_reached",
     "entered_packets", "entered_bytes", "delivered_packets", "delivered_bytes")
)  # fmt: skip
# A counter that was silent for longer did not change before its last step.
LONGEST_STEP_NS = 1_500_000_000
# What is sampled when it changes; every change is kept.
_STEPS = {("kafka", "leader"), ("kafka", "isr"), ("kafka", "replicas"), ("kafka", "controller")}


@dataclass
class Steps:
    """A value that changes now and then. ``at`` returns the one that held at a moment."""

    times: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, at_ns: int, value: Any) -> None:
        place = bisect_right(self.times, at_ns)
        self.times.insert(place, at_ns)
        self.values.insert(place, value)
        if len(self.times) > MOST_STEPS:
            del self.times[0], self.values[0]

    def at(self, at_ns: int) -> Any:
        place = bisect_right(self.times, at_ns)
        return self.values[place - 1] if place else None

    def since(self, at_ns: int) -> int | None:
        """When the value that holds at a moment began to hold."""
        place = bisect_right(self.times, at_ns)
        return self.times[place - 1] if place else None


@dataclass(frozen=True)
class ProcessState:
    """The state of one instance of a component, and why."""

    word: str  # starting, ready, running, stopped, finished, died, killed
    reason: str = ""


@dataclass
class FaultSpan:
    """One occurrence of a fault, from its beginning to its end (None: still in force)."""

    name: str
    instance: int
    do: str
    on: tuple[str, ...]
    settings: dict[str, Any]
    start_ns: int
    end_ns: int | None = None


class RunStory:
    """What is known about a run at each moment."""

    def __init__(self, plan: Plan, experiment: Mapping[str, Any], created_ns: int, cpus: float = 1.0) -> None:
        self.plan = plan
        self.experiment = experiment
        self.created_ns = created_ns
        # Of the machine that it runs on.
        self.cpus = cpus
        self.buckets = TimeBuckets(created_ns)
        self.messages = MessagePreview(self.buckets, groups_of_topics(experiment))
        # The latest events, with the number of the first of them.
        self.events: deque[dict[str, Any]] = deque(maxlen=MOST_EVENTS)
        self.event_count = 0
        self.phases = Steps()
        self.processes: dict[str, dict[int, Steps]] = {part.name: {} for part in plan.components}
        self.steps: dict[Key, Steps] = {}
        self.faults: list[FaultSpan] = []
        self.elections: list[int] = []
        self.jobs = JobChanges()
        # The series of drops by direction of a link, and the groups whose lag is sampled.
        self.drop_keys: dict[str, set[Key]] = {}
        self.lag_groups: dict[str, None] = {}
        # The latest values of each topic.
        self.values: dict[str, deque[dict[str, Any]]] = {}
        # The last rows of each table of a store, by both their names.
        self.rows: dict[tuple[str, str], Steps] = {}
        self.newest_ns = created_ns
        self._counters: dict[Key, tuple[int, float]] = {}
        self._planned_settings = {fault.name: dict(fault.settings) for fault in plan.faults}
        brokers = [part for part in plan.components if part.kind == "broker"]
        self.brokers = dict(zip(node_ids([part.host for part in brokers]), (b.name for b in brokers), strict=True))

    def take(self, found: Increment, now_ns: int) -> None:
        """Note what one look at a run that goes on found."""
        self._take_events_and_samples(found)
        self.messages.take(found, now_ns)
        self.newest_ns = max(self.newest_ns, now_ns)

    def take_whole_record(self, found: Increment) -> None:
        """Note the whole record of a run that is over."""
        self._take_events_and_samples(found)
        self.messages.take_whole_record(found)
        ends = [event["at_ns"] for event in self.events if event["event"] == "phase" and event["phase"] == "seal"]
        self.newest_ns = max(ends, default=self.newest_ns)

    def join(self, plan: Plan, experiment: Mapping[str, Any]) -> None:
        """Take the plan and the experiment as they are now that a job has joined the run."""
        self.plan = plan
        self.experiment = experiment
        for part in plan.components:
            self.processes.setdefault(part.name, {})

    def events_since(self, number: int, most: int) -> tuple[list[dict[str, Any]], int]:
        """The events from this number on, at most the latest so many; and how many were left out."""
        first = max(number, self.event_count - min(most, len(self.events)))
        newest = len(self.events) - (self.event_count - first)
        return list(self.events)[newest:], first - number

    # ---- events

    def _take_events_and_samples(self, found: Increment) -> None:
        for event in found.events:
            event["number"] = self.event_count
            self.event_count += 1
            self.events.append(event)
            self.newest_ns = max(self.newest_ns, int(event["at_ns"]))
            self._note_event(event)
        for value in found.values:
            self._note_value(value)
        for batch in found.samples:
            columns = [batch.column(name).to_pylist() for name in ("at_ns", "source", "object", "metric", "value")]
            for at_ns, source, object_, metric, value in zip(*columns, strict=True):
                self._note_sample(at_ns, (source or "", object_ or "", metric or ""), value)

    def _note_event(self, event: dict[str, Any]) -> None:
        at_ns, kind = int(event["at_ns"]), str(event.get("event"))
        if kind == "phase":
            self.phases.add(at_ns, str(event.get("phase")))
        elif kind == "leader":
            self.elections.append(at_ns)
        elif kind == "fault-applied":
            name = str(event.get("fault"))
            settings = event.get("settings") or self._planned_settings.get(name, {})
            on = tuple(map(str, event.get("on", ())))
            number = int(event.get("instance", 1))
            self.faults.append(FaultSpan(name, number, str(event.get("do")), on, dict(settings), at_ns))
            del self.faults[:-MOST_STEPS]
        elif kind == "fault-healed":
            for span in reversed(self.faults):
                if (span.name, span.instance) == (event.get("fault"), event.get("instance")) and span.end_ns is None:
                    span.end_ns = at_ns
                    break
        elif (job := find_job(event)) is not None:
            self.jobs.add(at_ns, job)
            self.processes.setdefault(job.component, {})
        state = process_state(event)
        if state is not None and event.get("component") in self.processes:
            instances = self.processes[event["component"]]
            numbers = [int(event["instance"])] if "instance" in event else list(instances) or [1]
            for number in numbers:
                instances.setdefault(number, Steps()).add(at_ns, state)

    def _note_value(self, value: dict[str, Any]) -> None:
        """Keep the rows of a table, or a value and the numbers in it as series: those of a JSON object, or the value
        if it is a number."""
        if "store" in value:
            place = (str(value["store"]), str(value.get("table")))
            self.rows.setdefault(place, Steps()).add(int(value["at_ns"]), value)
            return
        topic = str(value.get("topic"))
        self.values.setdefault(topic, deque(maxlen=MOST_VALUES)).append(value)
        for name, number in numbers_of(str(value.get("value"))).items():
            self.buckets.set(("value", topic, name), int(value["at_ns"]), number)

    # ---- samples

    def _note_sample(self, at_ns: int, key: Key, value: float) -> None:
        source, object_, metric = key
        if metric.startswith("le_") or source == "monitor" or math.isnan(value):
            return
        if (source, metric) in _STEPS:
            self.steps.setdefault(key, Steps()).add(at_ns, value)
        elif metric in COUNTERS or metric.startswith("dropped."):
            if metric.startswith("dropped."):
                self.drop_keys.setdefault(object_, set()).add(key)
            before_ns, before = self._counters.get(key, (at_ns - LONGEST_STEP_NS, 0.0))
            self._counters[key] = (at_ns, value)
            grown = value - before if value >= before else value
            self.buckets.spread(key, max(before_ns, at_ns - LONGEST_STEP_NS), at_ns, grown)
        else:
            if (source, metric) == ("client", "lag"):
                self.lag_groups[object_] = None
            self.buckets.set(key, at_ns, value)


def numbers_of(text: str) -> dict[str, float]:
    """The numbers of a value: fields of a JSON object, or the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    fields = value.items() if isinstance(value, dict) else [("value", value)]
    return {
        str(name): float(number)
        for name, number in list(fields)[:MOST_FIELDS]
        if isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < 1e300
    }


def process_state(event: Mapping[str, Any]) -> ProcessState | None:
    """The state of a process that an event tells of; None if it tells of none."""
    match event.get("event"):
        case "started":
            return ProcessState("starting" if event.get("start", 1) == 1 else "running")
        case "ready":
            return ProcessState("ready")
        case "restarted":
            return ProcessState("running")
        case "finished":
            return ProcessState("finished")
        case "died":
            return ProcessState("died", str(event.get("how") or event.get("reason") or ""))
        case "stopped":
            how, why = str(event.get("how", "")), str(event.get("why", ""))
            if why in ("stop", ""):
                return ProcessState("stopped", how)
            return ProcessState("killed" if "killed" in how else "stopped", f"{how} ({why})")
    return None


def groups_of_topics(experiment: Mapping[str, Any]) -> dict[str, set[str]]:
    """The topics that consumers of the experiment read, with the groups that it names."""
    found: dict[str, set[str]] = {}
    for consumer in experiment.get("consumers") or ():
        topics = consumer.get("topics") or ()
        for topic in [topics] if isinstance(topics, str) else topics:
            named = found.setdefault(str(topic), set())
            if consumer.get("group"):
                named.add(str(consumer["group"]))
    return found


def read_story(folder: RunFolder) -> RunStory:
    """An empty story of the run in this folder, with its plan and its experiment. BadInput if it has none."""
    plan, experiment = read_plan(folder)
    cpus = float((folder.info.get("machine") or {}).get("cpus") or 1)
    return RunStory(plan, experiment, int(folder.info["created_ns"]), cpus)


def read_plan(folder: RunFolder) -> tuple[Plan, dict[str, Any]]:
    """The plan and the experiment of the run in this folder as they are now. BadInput if it has none."""
    try:
        plan = Plan.from_json(json.loads((folder.path / "plan.json").read_text("utf-8")))
        experiment = yaml.safe_load((folder.path / "experiment.yaml").read_text("utf-8"))
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        what = f"has no plan and experiment that can be read: {' '.join(str(error).split())}"
        raise BadInput(Mistake(str(folder.path), what, "a run has both once it has begun")) from None
    experiment = experiment if isinstance(experiment, dict) else {}
    with contextlib.suppress(ValueError):  # of another version: then what it says is taken as it is
        # The model gives components without a name their names.
        experiment = Experiment.model_validate(experiment).model_dump(by_alias=True)
    return plan, experiment
