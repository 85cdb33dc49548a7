"""A sink: our client that writes the messages of topics to tables of a store, each once, whatever dies meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from stream2gym.clients.sink import SinkConfig
from stream2gym.components.base_component import BaseComponent
from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.components.death_cause import death
from stream2gym.components.run_context import RunContext
from stream2gym.components.status_lines import ClientStatus, status_listener
from stream2gym.components.store import StoreComponent
from stream2gym.components.topics import TopicPartition, bootstrap_for
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.own_python import own_python
from stream2gym.spec.model import Sink

GRACE_S = 11.0


class SinkComponent(BaseComponent):
    """The sink client on its host. It is ready when it has its partitions and the store answers."""

    def __init__(self, context: RunContext, part: Sink, store: StoreComponent) -> None:
        name, host = str(part.name), context.host_of(str(part.name))
        self._context = context
        self.part = part
        self.store = store
        self.status = ClientStatus()
        self.log = context.folder.log_path(host, name)
        bootstrap = bootstrap_for(context.experiment, context.nodes, part.topics)
        self.config = SinkConfig(
            name=name,
            bootstrap=bootstrap,
            connection=store.connection(),
            topics=tuple(part.topics),
            pattern=part.pattern,
            table=part.table,
            keys=tuple(part.keys),
            keys_from=part.keys_from,
            replace=part.mode != "insert",
            create=part.create,
            batch=part.batch,
            answer_timeout_s=float(part.answer_timeout),
        )
        policy = RestartPolicy.of(part.restart)
        process = ComponentProcess(name, host, self._launch, self._tell, policy=policy, grace_s=GRACE_S)
        super().__init__(name, "sink", host, [process])

    def topics(self, every: Sequence[str]) -> list[str]:
        """The topics that it reads; a pattern is matched against ``every``, the topics that there are."""
        if self.part.pattern is None:
            return list(self.part.topics)
        wanted = re.compile(self.part.pattern.removeprefix("^"))
        return [topic for topic in every if wanted.match(topic) or topic in self.part.topics]

    def ready(self) -> bool:
        return self.status.ready

    def why_not_ready(self) -> str:
        return self.cause() or "it has no partitions, or the store does not answer"

    def cause(self) -> str:
        return "; ".join(self.status.problems)

    def reading(self) -> dict[str, dict[TopicPartition, int]]:
        """The next offset of every partition that it reads, by its name."""
        return {} if self.over else {f"sink {self.name}": self.status.positions()}

    def settled(self) -> bool:
        """Its position is written with its rows, so that it never has work beyond its position."""
        return True

    def committing_groups(self) -> list[str]:
        """None: its positions stand in the store."""
        return []

    def _launch(self, _start: int) -> Process:
        path = f"{WORK}/{self.name}.json"
        self.status.on_start()
        return self._context.spawn(
            self.host,
            own_python("-m", "stream2gym.clients.sink", path),
            name=self.name,
            log=self.log,
            on_line=status_listener(self.log, self._on_report),
            files={path: json.dumps(self.config.to_json()).encode()},
        )

    def _on_report(self, report: dict[str, Any]) -> None:
        self.status.update(report)
        if "rows" in report:
            self._context.sample("sink", self.name, "rows", report["rows"], at_ns=int(report["at_ns"]))
        who = {"component": self.name, "host": self.host}
        match report.get("event"):
            case "error":
                self._context.tell("sink-failed", **who, cause=report.get("what"))
            case "lost":
                self._context.tell("store-lost", **who, store=self.store.name, cause=report.get("why"))
            case "found":
                self._context.tell("store-found", **who, store=self.store.name)
            case "late-commit":
                self._context.tell("late-commit", **who, store=self.store.name)

    def _tell(self, kind: str, **details: Any) -> None:
        if kind == "died":
            details |= death(self.log, self.cause())
        self._context.tell(kind, **details)
