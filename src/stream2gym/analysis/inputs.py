"""What an analysis reads besides messages: the experiment, the plan and the events of a run.

``read_inputs`` opens a run folder. ``Inputs`` tells who should have received what. Nothing is written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from stream2gym.analysis.program_observation import BlindSpot, find_blind_spots, find_read_topics
from stream2gym.analysis.result_tables import FROM_SENT, LatencyKind, PhaseRow
from stream2gym.analysis.run_history import (
    FaultWindow,
    find_drain_end_s,
    find_fault_windows,
    find_load_end_s,
    find_phases,
    find_warmup,
)
from stream2gym.components.program_command import can_be_observed
from stream2gym.components.rabbitmq_cluster import queue_topics
from stream2gym.components.topics import groups_of, header_topics_of, topics_of
from stream2gym.errors import BadInput, Mistake
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Consumer, Engine, Experiment, Producer

STEPS = 600  # a series has at most so many time steps


@dataclass(frozen=True)
class Subscription:
    """A group that reads a topic."""

    group: str
    topic: str
    # Whether the group begins at the end of the log.
    latest: bool
    # Whether all of its consumers record what they receive.
    observed: bool
    consumers: tuple[str, ...]


@dataclass(frozen=True)
class Member:
    """A consumer as a member of a group that reads a topic."""

    name: str
    latest: bool
    observed: bool


@dataclass(frozen=True)
class Deletion:
    """When a fault began to delete a topic, and when that was done. None: nobody knows whether it was."""

    from_ns: int
    to_ns: int | None = None


@dataclass(frozen=True)
class Inputs:
    """What a run folder holds besides messages."""

    folder: RunFolder
    experiment: Experiment
    plan: Plan
    events: tuple[dict[str, Any], ...]  # with t_s
    rows: dict[str, int]  # of each table
    load_s: float

    @property
    def step_s(self) -> float:
        """The time step of series: a second, or more where a series would have more than ``STEPS`` steps."""
        return float(max(1, -(-int(self.load_s + 30) // STEPS)))

    def table(self, name: str) -> Path:
        return self.folder.data / f"{name}.parquet"

    @cached_property
    def has_warmup(self) -> bool:
        """Whether messages were sent before t0, which no performance figure counts."""
        return find_warmup(self.phases) is not None

    @property
    def host_of(self) -> dict[str, str]:
        return {part.name: part.host for part in self.plan.components}

    @property
    def foreign_writers(self) -> dict[str, tuple[str, ...]]:
        """The topics that unobserved programs of the user write to, with the names of those programs."""
        found: dict[str, tuple[str, ...]] = {}
        for producer in self.experiment.producers:
            if not self.is_observed(producer):
                for topic in {producer.topic, *(t.name for t in producer.topics)} - {None}:
                    found[str(topic)] = (*found.get(str(topic), ()), str(producer.name))
        return found

    @cached_property
    def unscheduled_producers(self) -> list[str]:
        """The producers whose messages have no due times of their own: they send as soon as they can."""
        producers = self.experiment.producers
        own = {str(part.name) for part in producers if part.rate is None and part.arrivals.kind != "trace"}
        return sorted(own | self.unpaced_producers)

    @cached_property
    def compacted_topics(self) -> frozenset[str]:
        """Topics in which a later message of a key may replace an earlier one."""
        usual = any(
            "compact" in str(broker.config.get("log.cleanup.policy", "")) for broker in self.experiment.brokers
        )
        return frozenset(
            topic.name
            for topic in self.experiment.topics
            if "compact" in str(topic.config.get("cleanup.policy", "compact" if usual else ""))
        )

    @cached_property
    def deletions(self) -> dict[str, Deletion]:
        """The topics that a fault deleted, each with its last deletion."""
        found: dict[str, Deletion] = {}
        for window in self.fault_windows:
            if window.kind == "delete-topic":
                to_ns = None if window.undone_s is None else round(window.undone_s * 1e9)
                found |= dict.fromkeys(window.on, Deletion(round(window.from_s * 1e9), to_ns))
        return found

    @cached_property
    def queue_topics(self) -> frozenset[str]:
        """Topics whose messages are in queues, so that they have no offsets."""
        return frozenset(queue_topics(self.experiment))

    @cached_property
    def queue_ends(self) -> dict[tuple[str, str], int]:
        """What was left in the queue of each topic and group when its consumers had left. No entry: unknown."""
        return {
            (str(event["topic"]), str(event["group"])): int(event["left"])
            for event in self.events
            if event.get("event") == "queue-end"
        }

    @property
    def began_s(self) -> float | None:
        """When the command of the run began. None: the record does not tell."""
        began_ns = self.folder.info.get("began_ns")
        return None if began_ns is None else (int(began_ns) - self.folder.t0_ns) / 1e9

    @cached_property
    def phases(self) -> tuple[PhaseRow, ...]:
        return find_phases(self.events)

    @cached_property
    def fault_windows(self) -> list[FaultWindow]:
        return find_fault_windows(self.events)

    @cached_property
    def drain_end_s(self) -> float:
        return find_drain_end_s(self.phases, self.load_s)

    def is_observed(self, part: Producer | Consumer | Engine) -> bool:
        """Whether what a client did is on record: it is one of ours, or a program in which the recorder worked."""
        return part.app is None or str(part.name) in self.observed_programs

    @cached_property
    def observed_programs(self) -> frozenset[str]:
        """Programs of the user's of which every instance used a Kafka library that was recorded, and no other."""
        return frozenset(name for name, why in self.blind_spots.items() if not why)

    @cached_property
    def blind_spots(self) -> dict[str, tuple[BlindSpot, ...]]:
        """What is not on record of each program of the user's, and why; nothing of one that was observed."""
        return {str(part.name): find_blind_spots(part, self.events) for part in self.programs}

    @property
    def programs(self) -> tuple[Producer | Consumer | Engine, ...]:
        """Programs of the user's that may talk to Kafka."""
        experiment = self.experiment
        engines = experiment.engines if experiment.brokers else []
        parts: tuple[Producer | Consumer | Engine, ...] = (*experiment.producers, *experiment.consumers, *engines)
        return tuple(part for part in parts if part.app is not None)

    @cached_property
    def engines_on_wire(self) -> tuple[str, ...]:
        """Engines that the experiment observes from their packets. What they fetch is owed to no group."""
        return tuple(str(part.name) for part in self.experiment.engines if can_be_observed(part))

    @cached_property
    def forwarding_writers(self) -> frozenset[tuple[str, str]]:
        """Topics and their writers where messages are recognised by a header that the writer only forwards."""
        on_wire = [str(part.name) for part in self.programs if part.observe == "wire"]
        return frozenset((topic, name) for topic in header_topics_of(self.experiment) for name in on_wire)

    @cached_property
    def unpaced_producers(self) -> frozenset[str]:
        """Clients whose messages have no due time, only a time at which they were sent."""
        hidden = {str(engine.name) for engine in self.experiment.engines} - set(self.engines_on_wire)
        return frozenset(str(part.name) for part in self.programs) - hidden

    def latency_kind(self, kind: LatencyKind, producer: str) -> LatencyKind:
        """The kind of a latency that runs from due times, or from sending where a producer has none."""
        return FROM_SENT[kind] if producer in self.unpaced_producers else kind

    def groups(self) -> dict[str, list[str]]:
        """The group of every instance of every consumer."""
        return groups_of(self.experiment, self.plan)

    def subscriptions(self) -> list[Subscription]:
        """Which group should receive which topic, by the experiment and by what observed programs did."""
        members: dict[tuple[str, str], list[Member]] = {}
        groups = self.groups()
        read = find_read_topics(self.events, [topic.name for topic in self.experiment.topics])
        clients: tuple[Producer | Consumer, ...] = (*self.experiment.consumers, *self.experiment.producers)
        for part in clients:
            name, observed = str(part.name), self.is_observed(part)
            if name in self.observed_programs and name in read:
                for (group, topic), latest in read[name].items():
                    members.setdefault((group, topic), []).append(Member(name, latest, observed))
            elif isinstance(part, Consumer):
                for group in dict.fromkeys(groups[name]):
                    for topic in topics_of(part, self.experiment):
                        latest = part.from_ == "latest"
                        members.setdefault((group, topic), []).append(Member(name, latest, observed))
        return [
            Subscription(
                group,
                topic,
                latest=any(member.latest for member in found),
                observed=all(member.observed for member in found),
                consumers=tuple(dict.fromkeys(member.name for member in found)),
            )
            for (group, topic), found in members.items()
        ]

    def topics_of_several_groups(self) -> dict[str, int]:
        """The topics that several observed groups read, with the number of those groups."""
        groups: dict[str, set[str]] = {}
        for sub in self.subscriptions():
            if sub.observed:
                groups.setdefault(sub.topic, set()).add(sub.group)
        return {topic: len(names) for topic, names in groups.items() if len(names) > 1}


def read_inputs(path: Path) -> Inputs:
    """Open a sealed run folder."""
    folder = RunFolder.open(path)
    missing = [name for name in ("sent", "received") if not (folder.data / f"{name}.parquet").is_file()]
    if missing:
        raise BadInput(
            Mistake(str(path), f"has no table {' and '.join(missing)}", "a run can be analysed once it is sealed")
        )
    rows = {file.stem: int(pq.read_metadata(file).num_rows) for file in folder.data.glob("*.parquet")}
    experiment = Experiment.model_validate(yaml.safe_load((path / "experiment.yaml").read_text("utf-8")))
    plan = Plan.from_json(json.loads((path / "plan.json").read_text("utf-8")))
    events = tuple(folder.read_events())
    return Inputs(folder, experiment, plan, events, rows, find_load_end_s(events, float(experiment.time)))
