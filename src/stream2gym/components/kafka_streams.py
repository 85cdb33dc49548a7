"""A Kafka Streams program on its host: a Java file or a jar, started by our launcher and observed from inside.

It is ready when its streams, and those of all instances of its application, are in state RUNNING: every task has
been assigned and restored. What its group has committed tells how far it is. Streams that fail are an event with the
cause, even if the program around them lives on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.components.cluster import bootstrap, property_texts
from stream2gym.components.death_cause import first_cause
from stream2gym.components.engine import EngineComponent, EngineSetting
from stream2gym.components.engine_gate import GatedEngine
from stream2gym.components.run_context import end_of_log
from stream2gym.components.streams_report import ERROR, RUNNING, StreamsReport
from stream2gym.components.topics import TopicPartition
from stream2gym.hosts.emulated_host import WORK
from stream2gym.kinds.engine_settings import KAFKA_STREAMS, KafkaStreamsSettings
from stream2gym.kinds.registry import Kind
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.kafka_config import properties_text
from stream2gym.software.resolve import ensure_packages
from stream2gym.software.streams_software import StreamsProgram, StreamsSoftware
from stream2gym.software.streams_start_cache import with_start_cache
from stream2gym.spec.model import Engine

MB = 1024**2
DEFAULT_MEMORY_MB = 256
WIPE_S = 10.0
# Kafka's default of 30 s is longer than many runs. Until a commit, aggregates stay in a cache, and nobody knows how
# far the program is. With exactly-once Kafka's own default is 100 ms.
COMMIT_MS = 1000
MEMORY_STORES = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
# Kafka Streams logs hundreds of lines while it closes, after the error.
SEARCHED_LINES = 400
_THREAD = re.compile(r'^Exception in thread "[^"]*" ', re.MULTILINE)
_NO_ROCKSDB = re.compile(r"NoClassDefFoundError: (L?org/rocksdb|.*RocksDB)|ClassNotFoundException: org\.rocksdb")
_NO_TOPIC = re.compile(r"MissingSourceTopicException|UnknownTopicOrPartition|does not exist")
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"


def application_of(part: Engine) -> str:
    """The application that an engine is an instance of: its group, and the stem of its internal topics."""
    return str(part.settings.get("application") or part.name)


def streams_properties(part: Engine, *, servers: str, state: str) -> dict[str, str]:
    """The properties that a program is given: ours, overridden by the experiment's."""
    settings: KafkaStreamsSettings = part.checked_settings
    own = {
        "application.id": application_of(part),
        "bootstrap.servers": servers,
        "state.dir": state,
        "num.stream.threads": str(settings.threads),
    }
    if settings.guarantee == "exactly-once":
        own["processing.guarantee"] = "exactly_once_v2"
    else:
        own["commit.interval.ms"] = str(COMMIT_MS)
    if settings.store == "memory":
        own["dsl.store.suppliers.class"] = MEMORY_STORES
    return own | property_texts(part.config)


def explain_cause(log: str, topics: Sequence[str], memory_mb: int) -> str:
    """Why a program or its streams failed, from its log, with the remedy where there is one."""
    if _OUT_OF_MEMORY in log:
        return f"out of memory ({_OUT_OF_MEMORY}): it has {memory_mb} MiB; give it more, like 'memory: 512 MiB'"
    if _NO_ROCKSDB.search(log):
        return (
            "its stores are those of RocksDB, which is not there: say 'store: rocksdb', or build the topology with "
            "new StreamsBuilder(new TopologyConfig(new StreamsConfig(settings)))"
        )
    found = first_cause(_THREAD.sub("", log))
    if _NO_TOPIC.search(found):
        found += f" (it reads a topic that nobody made; there are: {', '.join(topics) or 'none'})"
    return found


class KafkaStreamsProgram(GatedEngine):
    """One instance of an application. ``report`` holds what it has told since its last start."""

    KIND: ClassVar[Kind] = KAFKA_STREAMS

    def __init__(self, setting: EngineSetting) -> None:
        self.settings: KafkaStreamsSettings = setting.settings
        self.application = application_of(setting.part)
        self.report = StreamsReport()
        self._folder = f"{WORK}/{setting.name}"
        self._is_first_start = True
        self._has_run = False
        self._instances: list[KafkaStreamsProgram] = [self]
        self._program = self.program_of(setting.part, setting.base, setting.software)
        super().__init__(setting)

    @classmethod
    def prepare(cls, parts: Sequence[Engine], progress: Progress) -> StreamsSoftware:
        settings: list[KafkaStreamsSettings] = [part.checked_settings for part in parts]
        software = StreamsSoftware.ensure(progress, rocksdb=any(one.store == "rocksdb" for one in settings))
        wanted = sorted({package for one in settings for package in one.packages})
        return with_start_cache(replace(software, packages=ensure_packages(wanted, progress)))

    @classmethod
    def prepare_program(
        cls, part: Engine, engines: Sequence[Engine], base: Path, software: Any, progress: Progress
    ) -> Any:
        cls.program_of(part, base, software, progress)
        return software

    @staticmethod
    def program_of(
        part: Engine, base: Path, software: StreamsSoftware, progress: Progress = silent
    ) -> StreamsProgram:
        """The program of an engine; a Java file is compiled if it never was."""
        settings: KafkaStreamsSettings = part.checked_settings
        app = base.absolute() / str(part.app)
        return software.program(app, settings.main, where=f"engine {part.name}", progress=progress)

    def know_others(self, engines: Sequence[EngineComponent]) -> None:
        self._instances = [
            one for one in engines if isinstance(one, KafkaStreamsProgram) and one.application == self.application
        ]

    def starts_early(self) -> bool:
        return True

    def command(self, start: int) -> list[str]:
        self.report.on_start()
        self._is_first_start = start == 1
        self._has_run = False
        software: StreamsSoftware = self.setting.software
        rocksdb = self.settings.store == "rocksdb"
        return [*software.command(self._program, heap_mb=self._memory_mb(), rocksdb=rocksdb), *self.setting.part.args]

    def environment(self) -> Mapping[str, str]:
        return {
            "S2G_APPLICATION": self.application,
            "S2G_PROPERTIES": f"{self._folder}/streams.properties",
            "S2G_STATE": f"{self._folder}/state",
            "S2G_GATE": str(self._gate.path) if self._is_first_start else "",
        }

    def files(self) -> Mapping[str, bytes]:
        servers = bootstrap(self.setting.nodes)
        properties = streams_properties(self.setting.part, servers=servers, state=f"{self._folder}/state")
        return {f"{self._folder}/streams.properties": properties_text(properties).encode()}

    def wipe(self) -> None:
        """Remove the state that it keeps on its host. Kafka still has the topics that it is restored from."""
        argv = ["rm", "-rf", "--", f"{self._folder}/state"]
        self.context.spawn(self.host, argv, name="wipe", log=self.log).wait(WIPE_S)

    def ready(self) -> bool:
        process = self.processes[0]
        if process.state == "finished" or self.settings.ready == "start":
            return process.state in ("finished", "running")
        if self.settings.ready == "exit" or not process.running:
            return False
        return all(one.report.state == RUNNING for one in self._instances if one.settings.ready == "running")

    @property
    def hopeless(self) -> bool:
        return super().hopeless or (self.settings.ready == "running" and self.report.state == ERROR)

    def ready_timeout_s(self) -> float:
        return float(self.settings.ready_timeout)

    def why_not_ready(self) -> str:
        if self.settings.ready == "exit":
            return "it has not ended (ready: exit waits for that)"
        if not self.report.state:
            return "it has not started its streams (a program that never does needs 'ready: exit' or 'start')"
        states = {one.name: one.report.state or "not started" for one in self._instances}
        return "its streams are not RUNNING: " + ", ".join(f"{name} is {state}" for name, state in states.items())

    def cause(self) -> str:
        topics = [topic.name for topic in self.context.experiment.topics]
        return explain_cause(end_of_log(self.log, SEARCHED_LINES), topics, self._memory_mb())

    def ended(self) -> None:
        self.report.on_start()

    def committing_groups(self) -> list[str]:
        return [] if self.processes[0].over or self.settings.ready != "running" else [self._group()]

    def reading(self) -> dict[str, dict[TopicPartition, int]]:
        if not self.committing_groups():
            return {}
        # What the group has committed of these partitions Kafka knows.
        return {self._group(): dict.fromkeys(self.report.assigned(), 0)}

    def settled(self) -> bool:
        process = self.processes[0]
        if process.over or self.settings.ready != "running" or self.report.state == ERROR:
            return True
        # Before it has named its partitions nobody knows how far it is.
        return self.report.state == RUNNING and self.report.has_named_partitions

    def _group(self) -> str:
        """The group that it commits for. A program that names its application itself tells which."""
        return self.report.application or self.application

    def _memory_mb(self) -> int:
        memory = self.settings.memory
        return DEFAULT_MEMORY_MB if memory is None else max(1, int(memory) // MB)

    def _on_report(self, report: dict[str, Any]) -> None:
        own = report.get("kstreams")
        if not isinstance(own, dict):
            super()._on_report(report)
            return
        state = self.report.take_state(own)
        if state:
            self._tell_state(state)
        for metric, value in self.report.take_numbers(own):
            self.context.sample("kafka-streams", f"{self.name}.{self.application}", metric, value)

    def _tell_state(self, state: str) -> None:
        where = {"component": self.name, "host": self.host, "query": self.application}
        self.context.tell("streams-state", state=state, **where)
        if state == RUNNING and not self._has_run:
            self._has_run = True
            self.context.tell("query-started", **where)
        if state == ERROR:
            self.context.tell("query-failed", cause=self.cause() or "its log names no error", **where)
