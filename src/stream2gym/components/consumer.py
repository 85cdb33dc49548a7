"""A consumer: the recording client of ours with its configuration, in one or more instances.

It is ready when its group has given it its partitions, which may be none when there are more instances than
partitions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from stream2gym.clients.config import ConsumerConfig
from stream2gym.components.base import ProcessComponent
from stream2gym.components.cluster import Node
from stream2gym.components.stage import Stage
from stream2gym.components.topics import bootstrap_for, groups_of, hashes_of, topics_of
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.components.words import ClientWords, Place, word_listener
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.spec.model import Consumer, Experiment

READY_TIMEOUT_S = 300.0
STOP_S = 8.0


def consumer_config(part: Consumer, experiment: Experiment, *, bootstrap: str, group: str) -> ConsumerConfig:
    """What the recording client is told, but for the name of its journal."""
    topics = topics_of(part, experiment)
    return ConsumerConfig(
        bootstrap=bootstrap,
        name=str(part.name),
        group=group,
        topics=() if part.pattern else tuple(part.topics),
        pattern=part.pattern,
        start_from=part.from_,
        isolation=part.isolation,
        commit=part.commit,
        fetch_min_bytes=None if part.fetch_min is None else int(part.fetch_min),
        fetch_wait_ms=None if part.fetch_wait is None else round(part.fetch_wait.in_ms),
        session_timeout_ms=None if part.session_timeout is None else round(part.session_timeout.in_ms),
        work_s=float(part.work),
        client=dict(part.client),
        hash_by={topic: by for topic, by in hashes_of(experiment).items() if topic in topics},
        ready_timeout_s=READY_TIMEOUT_S,
        stop_s=STOP_S,
    )


def waiting_groups(consumers: Sequence[ConsumerComponent], partitions: Mapping[str, int]) -> list[str]:
    """Groups whose members do not hold all partitions of their topics yet (``partitions``: how many a topic has)."""
    held: dict[str, set[Place]] = {}
    wanted: dict[str, set[Place]] = {}
    for consumer in consumers:
        places = {(topic, n) for topic in consumer.topics for n in range(partitions.get(topic, 0))}
        for group, words in zip(consumer.groups, consumer.words, strict=True):
            held.setdefault(group, set()).update(words.assigned())
            wanted.setdefault(group, set()).update(places)
    return [group for group, places in wanted.items() if not places <= held[group]]


class ConsumerComponent(ProcessComponent):
    """The built-in recording client."""

    def __init__(self, stage: Stage, part: Consumer, nodes: tuple[Node, ...]) -> None:
        self._stage, self._part = stage, part
        name, host = str(part.name), stage.host_of(str(part.name))
        self.topics = topics_of(part, stage.experiment)
        self.groups = groups_of(stage.experiment, stage.plan)[name]
        bootstrap = bootstrap_for(stage.experiment, nodes, self.topics)
        self._configs = [
            consumer_config(part, stage.experiment, bootstrap=bootstrap, group=group) for group in self.groups
        ]
        self.words = [ClientWords() for _ in range(part.instances)]
        policy = RestartPolicy(part.restart.times, float(part.restart.delay))
        units = [
            Unit(
                name,
                host,
                lambda _start, instance=instance: self._launch(instance),  # type: ignore[misc]
                stage.tell,
                instance=instance,
                policy=policy,
                grace_s=STOP_S + 3.0,
            )
            for instance in range(1, part.instances + 1)
        ]
        super().__init__(name, "consumer", host, units)

    def ready(self) -> bool:
        return all(words.ready for words in self.words)

    def _hear(self, instance: int, said: dict[str, Any]) -> None:
        self.words[instance - 1].hear(said)
        self._note_positions(instance, said)
        if said.get("event") in ("assigned", "revoked"):
            self._stage.tell(
                str(said["event"]),
                at_ns=int(said["at_ns"]),
                component=self.name,
                host=self.host,
                instance=instance,
                group=self.groups[instance - 1],
                partitions=said["partitions"],
            )

    def _note_positions(self, instance: int, said: dict[str, Any]) -> None:
        """Where it began and how far it is, as samples, so that an audit can tell late from lost."""
        who = self.name if self._part.instances == 1 else f"{self.name}.{instance}"
        begun = said["partitions"] if said.get("event") == "assigned" else ()
        for what, places in (("first", begun), ("position", said.get("positions", ()))):
            for topic, number, offset in places:
                if offset >= 0:
                    metric = f"{what} {topic}/{number}"
                    self._stage.sample("client", who, metric, offset, at_ns=int(said["at_ns"]))

    def _launch(self, instance: int) -> Process:
        stage = self._stage
        journal, identity = stage.folder.new_journal("received", self.name, instance)
        config = self._configs[instance - 1].to_json() | {
            "instance": instance,
            "incarnation": identity.incarnation,
            "journal": str(journal.absolute()),
        }
        path = f"{WORK}/{self.name}.{instance}.json"
        log = stage.log_path(self.host, self.name, instance, self._part.instances)
        self.words[instance - 1].began()
        return stage.spawn(
            self.host,
            [sys.executable, "-m", "stream2gym.clients.consumer", path],
            name=self.name,
            log=log,
            on_line=word_listener(log, partial(self._hear, instance)),
            files={path: json.dumps(config).encode()},
        )
