"""A program of the user's that produces or consumes, in one or more instances.

It knows no gate: a producer starts at t0, a consumer when the topics are there. Its ``S2G`` lines become events
and samples, everything else that it prints goes to its log.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream2gym.components.base import ProcessComponent
from stream2gym.components.causes import death
from stream2gym.components.cluster import Node
from stream2gym.components.programs import (
    consumer_arguments,
    producer_arguments,
    program_command,
    program_environment,
)
from stream2gym.components.stage import Stage
from stream2gym.components.topics import bootstrap_for, topics_of, via_number
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.components.words import samples_in, word_listener
from stream2gym.hosts.process import Process
from stream2gym.spec.model import Consumer, Producer

GRACE_S = 5.0  # between SIGTERM and SIGKILL


class ProgramComponent(ProcessComponent):
    """A program of the user's that produces or consumes."""

    def __init__(
        self,
        stage: Stage,
        part: Producer | Consumer,
        nodes: tuple[Node, ...],
        base: Path,
        groups: Sequence[str] = (),
    ) -> None:
        self._stage, self._part, self._base = stage, part, base
        self._groups = groups
        self._stop_at_ns: int | None = None
        host = stage.host_of(str(part.name))
        kind = "producer" if isinstance(part, Producer) else "consumer"
        topics = part.topic_names() if isinstance(part, Producer) else topics_of(part, stage.experiment)
        self._topics = topics
        self._bootstrap = bootstrap_for(stage.experiment, nodes, self._topics)
        policy = RestartPolicy(part.restart.times, float(part.restart.delay))
        units = [
            Unit(
                str(part.name),
                host,
                lambda _start, instance=instance: self._launch(instance),  # type: ignore[misc]
                self._tell,
                instance=instance,
                policy=policy,
                grace_s=GRACE_S,
            )
            for instance in range(1, part.instances + 1)
        ]
        super().__init__(str(part.name), kind, host, units)

    def start_at(self, t0_ns: int) -> None:
        """Start now, knowing when the load will end."""
        self._stop_at_ns = t0_ns + int(float(self._stage.experiment.time) * 1e9)
        self.start()

    def _launch(self, instance: int) -> Process:
        stage, part = self._stage, self._part
        via = via_number(stage.experiment, self._topics)
        if isinstance(part, Producer):
            arguments = producer_arguments(part, self.host, instance, len(stage.experiment.topics), via)
        else:
            arguments = consumer_arguments(part, self.host, instance, via)
        more = {"S2G_TIME_S": f"{float(stage.experiment.time):g}", "S2G_SEED": str(stage.plan.seed)}
        if self._stop_at_ns is not None:
            more["S2G_STOP_NS"] = str(self._stop_at_ns)
        if self._groups:
            more["S2G_GROUP"] = self._groups[instance - 1]
        log = self._log(instance)
        return stage.spawn(
            self.host,
            [*program_command(part, self._base), *arguments],
            name=self.name,
            log=log,
            on_line=word_listener(log, self._hear),
            cwd=stage.root,
            env=program_environment(
                part,
                instance,
                bootstrap=self._bootstrap,
                topics=self._topics,
                run=stage.folder.path.absolute(),
                **more,
            ),
        )

    def _log(self, instance: int) -> Path:
        return self._stage.log_path(self.host, self.name, instance, self._part.instances)

    def _tell(self, kind: str, **details: Any) -> None:
        if kind == "died":
            details |= death(self._log(details["instance"]))
        self._stage.tell(kind, **details)

    def _hear(self, said: dict[str, Any]) -> None:
        if "event" in said:
            details = {
                key: value
                for key, value in said.items()
                if key not in ("event", "component", "host", "at_ns")
            }
            self._stage.tell(
                "program", component=self.name, host=self.host, name=str(said["event"]), details=details
            )
            return
        for metric, value in samples_in(said):
            self._stage.sample("program", self.name, metric, value)
