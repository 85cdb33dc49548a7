"""What an analysis stands on besides messages: the experiment, the plan, the events and the samples of a run.

``read_inputs`` opens a run folder and answers who should have received what. Reads only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import yaml

from stream2gym.components.topics import groups_of, topics_of
from stream2gym.errors import BadInput, Mistake
from stream2gym.plan.model import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Experiment

STEPS = 600  # a series has at most so many time steps


@dataclass(frozen=True)
class Subscription:
    """A group that reads a topic."""

    group: str
    topic: str
    latest: bool
    observed: bool  # by a recording consumer
    consumers: tuple[str, ...]


@dataclass(frozen=True)
class Inputs:
    """A run folder, read but for its messages."""

    folder: RunFolder
    experiment: Experiment
    plan: Plan
    events: tuple[dict[str, Any], ...]  # with t_s
    rows: dict[str, int]  # of each table
    load_s: float

    @property
    def step_s(self) -> float:
        """The time step of series: a second, or more so that a series stays short."""
        return float(max(1, -(-int(self.load_s + 30) // STEPS)))

    def table(self, name: str) -> Path:
        return self.folder.data / f"{name}.parquet"

    @property
    def host_of(self) -> dict[str, str]:
        return {part.name: part.host for part in self.plan.components}

    @property
    def foreign_writers(self) -> dict[str, tuple[str, ...]]:
        """Topics that programs of the user's write to, as far as the experiment says."""
        found: dict[str, tuple[str, ...]] = {}
        for producer in self.experiment.producers:
            if producer.app is not None:
                for topic in {producer.topic, *(t.name for t in producer.topics)} - {None}:
                    found[str(topic)] = (*found.get(str(topic), ()), str(producer.name))
        return found

    @property
    def observed_producers(self) -> frozenset[str]:
        return frozenset(str(part.name) for part in self.experiment.producers if part.app is None)

    def groups(self) -> dict[str, list[str]]:
        """The group of every instance of every consumer."""
        return groups_of(self.experiment, self.plan)

    def subscriptions(self) -> list[Subscription]:
        """Who should receive what, from the experiment."""
        members: dict[tuple[str, str], list[Any]] = {}
        groups = self.groups()
        for consumer in self.experiment.consumers:
            for group in dict.fromkeys(groups[str(consumer.name)]):
                for topic in topics_of(consumer, self.experiment):
                    members.setdefault((group, topic), []).append(consumer)
        return [
            Subscription(
                group,
                topic,
                latest=any(part.from_ == "latest" for part in parts),
                observed=all(part.app is None for part in parts),
                consumers=tuple(dict.fromkeys(str(part.name) for part in parts)),
            )
            for (group, topic), parts in members.items()
        ]


def read_inputs(path: Path) -> Inputs:
    """Open a sealed run folder."""
    folder = RunFolder.open(path)
    missing = [name for name in ("sent", "received") if not (folder.data / f"{name}.parquet").is_file()]
    if missing:
        raise BadInput(
            Mistake(
                str(path), f"has no table {' and '.join(missing)}", "a run can be analysed once it is sealed"
            )
        )
    rows = {file.stem: int(pq.read_metadata(file).num_rows) for file in folder.data.glob("*.parquet")}
    experiment = Experiment.model_validate(yaml.safe_load((path / "experiment.yaml").read_text("utf-8")))
    plan = Plan.from_json(json.loads((path / "plan.json").read_text("utf-8")))
    events = tuple(folder.read_events())
    return Inputs(folder, experiment, plan, events, rows, _load_s(events, float(experiment.time)))


def _load_s(events: tuple[dict[str, Any], ...], planned_s: float) -> float:
    """How long load went on: until the next phase began."""
    ends = [
        event["t_s"]
        for event in events
        if event.get("event") == "phase" and event.get("phase") != "load" and event["t_s"] > 0
    ]
    return float(min(ends, default=planned_s))
