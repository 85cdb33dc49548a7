"""A sink: a client of ours that moves topics into tables of a store, each row once, whatever dies in between."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from stream2gym.clients.sink import SinkConfig
from stream2gym.components.base import ProcessComponent
from stream2gym.components.causes import death
from stream2gym.components.cluster import Node
from stream2gym.components.stage import Stage
from stream2gym.components.store import StoreComponent
from stream2gym.components.topics import bootstrap_for
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.components.words import ClientWords, Place, word_listener
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.spec.model import Sink

GRACE_S = 11.0


class SinkComponent(ProcessComponent):
    """Ready when it has its partitions and the store answers."""

    def __init__(self, stage: Stage, part: Sink, store: StoreComponent, nodes: tuple[Node, ...]) -> None:
        name, host = str(part.name), stage.host_of(str(part.name))
        self._stage, self.part, self.store = stage, part, store
        self.words = ClientWords()
        self.log = stage.folder.log_path(host, name)
        bootstrap = bootstrap_for(stage.experiment, nodes, part.topics)
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
        )
        policy = RestartPolicy(part.restart.times, float(part.restart.delay))
        unit = Unit(name, host, self._launch, self._tell, policy=policy, grace_s=GRACE_S)
        super().__init__(name, "sink", host, [unit])

    def topics(self, every: Sequence[str]) -> list[str]:
        """The topics it reads, of ``every`` that there is."""
        if self.part.pattern is None:
            return list(self.part.topics)
        wanted = re.compile(self.part.pattern.removeprefix("^"))
        return [topic for topic in every if wanted.match(topic) or topic in self.part.topics]

    def ready(self) -> bool:
        return self.words.ready

    def why_not_ready(self) -> str:
        return self.cause() or "it has no partitions, or the store does not answer"

    def cause(self) -> str:
        return "; ".join(self.words.problems)

    def reading(self) -> dict[str, dict[Place, int]]:
        return {} if self.over else {f"sink {self.name}": self.words.positions()}

    def settled(self) -> bool:
        return True

    def _launch(self, _start: int) -> Process:
        path = f"{WORK}/{self.name}.json"
        self.words.began()
        return self._stage.spawn(
            self.host,
            [sys.executable, "-m", "stream2gym.clients.sink", path],
            name=self.name,
            log=self.log,
            on_line=word_listener(self.log, self._hear),
            files={path: json.dumps(self.config.to_json()).encode()},
        )

    def _hear(self, said: dict[str, Any]) -> None:
        self.words.hear(said)
        if "rows" in said:
            self._stage.sample("sink", self.name, "rows", said["rows"], at_ns=int(said["at_ns"]))
        who = {"component": self.name, "host": self.host}
        match said.get("event"):
            case "error":
                self._stage.tell("sink-failed", **who, cause=said.get("what"))
            case "lost":
                self._stage.tell("store-lost", **who, store=self.store.name, cause=said.get("why"))
            case "found":
                self._stage.tell("store-found", **who, store=self.store.name)

    def _tell(self, kind: str, **details: Any) -> None:
        if kind == "died":
            details |= death(self.log, self.cause())
        self._stage.tell(kind, **details)
