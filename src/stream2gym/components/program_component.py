"""A program of the user's that produces or consumes, in one or more instances.

It cannot wait for t0 by itself. Therefore a producer starts at t0, and a consumer when the topics are there. Its
status lines become events and samples. Everything else that it prints goes to its log. A Python program gets the
recorder (``instrument/``) on its path, which writes the same journals as our own clients.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream2gym.components.base_component import BaseComponent, make_processes
from stream2gym.components.death_cause import death
from stream2gym.components.program_command import (
    can_be_observed,
    consumer_arguments,
    custom_arguments,
    gets_recorder,
    producer_arguments,
    program_command,
    program_environment,
    recorder_environment,
)
from stream2gym.components.run_context import RunContext
from stream2gym.components.status_lines import status_listener
from stream2gym.components.topics import bootstrap_for, hashes_of, topics_of, via_number
from stream2gym.hosts.environment import clean_environment
from stream2gym.hosts.process import Process
from stream2gym.instrument.settings import Settings
from stream2gym.record.instances import instance_label
from stream2gym.record.program_record import GroupReading, ProgramRecord
from stream2gym.spec.model import Consumer, Producer

# Time between SIGTERM and SIGKILL.
STOP_S = 5.0
# How long a program may take to end by itself, where the experiment does not say.
GRACE_S = 10.0


class ProgramComponent(BaseComponent):
    """The user's program on its host."""

    def __init__(
        self,
        context: RunContext,
        part: Producer | Consumer,
        groups: Sequence[str] = (),
    ) -> None:
        self._context = context
        self._part = part
        self._groups = groups
        self._stop_at_ns: int | None = None
        self.record = ProgramRecord(context.folder.raw, str(part.name)) if can_be_observed(part) else None
        # How long it may take to end by itself before it is asked to.
        self.grace_s = GRACE_S if part.grace is None else float(part.grace)
        host = context.host_of(str(part.name))
        kind = "producer" if isinstance(part, Producer) else "consumer"
        topics = part.topic_names() if isinstance(part, Producer) else topics_of(part, context.experiment)
        self._topics = topics
        self._bootstrap = bootstrap_for(context.experiment, context.nodes, self._topics)
        processes = make_processes(part, host, self._launch, self._tell, grace_s=STOP_S)
        super().__init__(str(part.name), kind, host, processes)

    def start_at(self, t0_ns: int) -> None:
        """Start the program now, and tell it when the load ends."""
        self._stop_at_ns = t0_ns + int(float(self._context.experiment.time) * 1e9)
        self.start()

    def _launch(self, instance: int) -> Process:
        context, part = self._context, self._part
        via = via_number(context.experiment, self._topics)
        if part.type == "CUSTOM":
            arguments = custom_arguments(part, self.host, instance, context.experiment)
        elif isinstance(part, Producer):
            arguments = producer_arguments(part, self.host, instance, len(context.experiment.topics), via)
        else:
            arguments = consumer_arguments(part, self.host, instance, via)
        more = {
            "S2G_TIME_S": f"{float(context.experiment.time):g}",
            "S2G_GRACE_S": f"{self.grace_s:g}",
            "S2G_SEED": str(context.plan.seed),
        }
        if self._stop_at_ns is not None:
            more["S2G_STOP_NS"] = str(self._stop_at_ns)
        if self._groups:
            more["S2G_GROUP"] = self._groups[instance - 1]
        environment = program_environment(
            part,
            instance,
            bootstrap=self._bootstrap,
            topics=self._topics,
            run=context.folder.path.absolute(),
            **more,
        )
        if gets_recorder(part):
            environment = recorder_environment(
                self._recorder_settings(instance), environment, clean_environment(os.environ)
            )
        log = self._log(instance)
        return context.spawn(
            self.host,
            [*program_command(part, context.base), *arguments],
            name=self.name,
            log=log,
            on_line=status_listener(log, self._on_report),
            cwd=context.root,
            env=environment,
        )

    def groups(self) -> dict[str, GroupReading]:
        """How far it has read, by group; nothing once it has ended."""
        return {} if self.record is None or self.over else self.record.groups()

    def _recorder_settings(self, instance: int) -> Settings:
        context, part = self._context, self._part
        return Settings(
            raw=str(context.folder.raw.absolute()),
            name=self.name,
            instance=instance,
            host=self.host,
            label=instance_label(self.name, instance, part.instances),
            header=part.header,
            group=self._groups[instance - 1] if self._groups else self.name,
            hash_by=hashes_of(context.experiment),
        )

    def _log(self, instance: int) -> Path:
        return self._context.log_path(self.host, self.name, instance, self._part.instances)

    def _tell(self, kind: str, **details: Any) -> None:
        if kind == "died":
            details |= death(self._log(details["instance"]))
        self._context.tell(kind, **details)

    def _on_report(self, report: dict[str, Any]) -> None:
        self._context.record_report(self.name, self.host, report)
