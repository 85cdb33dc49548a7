"""A consumer: our recording client on its host, in one or more instances.

An instance is ready when its group has assigned its partitions. That may be none, when there are more instances than
partitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from stream2gym.clients.config import ConsumerConfig
from stream2gym.components.base_component import BaseComponent, make_processes
from stream2gym.components.rabbitmq_cluster import queue_kind, queue_name
from stream2gym.components.run_context import RunContext
from stream2gym.components.status_lines import ClientStatus, status_listener
from stream2gym.components.topics import TopicPartition, bootstrap_for, groups_of, hashes_of, topics_of
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.own_python import own_python
from stream2gym.record.instances import instance_label
from stream2gym.spec.model import Consumer, Experiment

READY_TIMEOUT_S = 300.0
STOP_S = 8.0


def consumer_config(part: Consumer, experiment: Experiment, *, bootstrap: str, group: str) -> ConsumerConfig:
    """The configuration of the recording client; ``_launch`` adds the instance and its journal."""
    topics = topics_of(part, experiment)
    with_queues = experiment.uses_rabbitmq
    kinds = {topic.name: queue_kind(topic) for topic in experiment.topics if with_queues and topic.name in topics}
    begin = "next" if part.from_ == "latest" else "first"
    return ConsumerConfig(
        bootstrap=bootstrap,
        name=str(part.name),
        group=group,
        broker="rabbitmq" if with_queues else "kafka",
        queues={topic: queue_name(topic, group, kind) for topic, kind in kinds.items()},
        streams={topic: begin for topic, kind in kinds.items() if kind == "stream"},
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
    """Groups that have not been assigned all partitions of their topics yet.

    ``partitions`` says how many partitions each topic has.
    """
    held: dict[str, set[TopicPartition]] = {}
    wanted: dict[str, set[TopicPartition]] = {}
    for consumer in consumers:
        places = {(topic, n) for topic in consumer.topics for n in range(partitions.get(topic, 0))}
        for group, status in zip(consumer.groups, consumer.statuses, strict=True):
            held.setdefault(group, set()).update(status.assigned())
            wanted.setdefault(group, set()).update(places)
    return [group for group, places in wanted.items() if not places <= held[group]]


class ConsumerComponent(BaseComponent):
    """The recording client on its host."""

    def __init__(self, context: RunContext, part: Consumer) -> None:
        self._context = context
        self._part = part
        name, host = str(part.name), context.host_of(str(part.name))
        self.topics = topics_of(part, context.experiment)
        self.groups = groups_of(context.experiment, context.plan)[name]
        bootstrap = bootstrap_for(context.experiment, context.nodes, self.topics, near=host)
        self._configs = [
            consumer_config(part, context.experiment, bootstrap=bootstrap, group=group) for group in self.groups
        ]
        self.statuses = [ClientStatus() for _ in range(part.instances)]
        processes = make_processes(part, host, self._launch, context.tell, grace_s=STOP_S + 3.0)
        super().__init__(name, "consumer", host, processes)

    def ready(self) -> bool:
        return all(status.ready for status in self.statuses)

    def _on_report(self, instance: int, report: dict[str, Any]) -> None:
        self.statuses[instance - 1].update(report)
        self._note_positions(instance, report)
        if report.get("event") in ("assigned", "revoked"):
            self._context.tell(
                str(report["event"]),
                at_ns=int(report["at_ns"]),
                component=self.name,
                host=self.host,
                instance=instance,
                group=self.groups[instance - 1],
                partitions=report["partitions"],
            )

    def _note_positions(self, instance: int, report: dict[str, Any]) -> None:
        """Sample where it began to read and how far it is: the audit tells by that whether a message is lost."""
        who = instance_label(self.name, instance, self._part.instances)
        begun = report["partitions"] if report.get("event") == "assigned" else ()
        for what, places in (("first", begun), ("position", report.get("positions", ()))):
            for topic, number, offset in places:
                if offset >= 0:
                    metric = f"{what} {topic}/{number}"
                    self._context.sample("client", who, metric, offset, at_ns=int(report["at_ns"]))

    def _launch(self, instance: int) -> Process:
        context = self._context
        journal, identity = context.folder.new_journal("received", self.name, instance)
        own = self._configs[instance - 1]
        # Nobody keeps the position in a stream but the consumer: a later start goes on where it last reported to be.
        reached = {topic: at for (topic, _), at in self.statuses[instance - 1].positions().items() if at > 0}
        config = own.to_json() | {
            "instance": instance,
            "incarnation": identity.incarnation,
            "journal": str(journal.absolute()),
            "streams": {topic: reached.get(topic, begin) for topic, begin in own.streams.items()},
        }
        path = f"{WORK}/{self.name}.{instance}.json"
        log = context.log_path(self.host, self.name, instance, self._part.instances)
        self.statuses[instance - 1].on_start()
        return context.spawn(
            self.host,
            own_python("-m", "stream2gym.clients.consumer", path),
            name=self.name,
            log=log,
            on_line=status_listener(log, partial(self._on_report, instance)),
            files={path: json.dumps(config).encode()},
        )
