"""An engine: a program of the user's under a stream processing engine, in one process that we start.

A plug-in is a subclass with a ``KIND`` and a ``command``, named by an entry point of the group
``stream2gym.engines``. Everything else here has a default. The run makes an engine before the brokers start, so that
slow starts overlap, opens its gate when topics and stores are there, and waits until it is ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.cluster import ServingNode, bootstrap
from stream2gym.components.component_classes import find_class, prepare_software
from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.components.death_cause import death
from stream2gym.components.run_context import RunContext
from stream2gym.components.status_lines import status_listener
from stream2gym.components.topics import TopicPartition
from stream2gym.errors import BadInput, Mistake
from stream2gym.hosts.process import Process
from stream2gym.kinds.registry import Kind, registry
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Engine

READY_TIMEOUT_S = 120.0
_BUILT_IN = {
    "spark": "stream2gym.components.spark:SparkJob",
    "spark-master": "stream2gym.components.spark_cluster:SparkMaster",
    "spark-worker": "stream2gym.components.spark_cluster:SparkWorker",
    "kafka-streams": "stream2gym.components.kafka_streams:KafkaStreamsProgram",
    "flink": "stream2gym.components.flink:FlinkJob",
    "flink-jobmanager": "stream2gym.components.flink_cluster:FlinkJobManager",
    "flink-taskmanager": "stream2gym.components.flink_cluster:FlinkTaskManager",
}


@dataclass(frozen=True)
class EngineSetting:
    """What an engine is made with: its part of the experiment, its checked settings, and the context of the run."""

    context: RunContext
    part: Engine
    # An instance of the settings model of its kind.
    settings: Any
    nodes: tuple[ServingNode, ...]
    # Relative paths of the experiment are resolved against this folder.
    base: Path
    # What ``prepare`` of its class returned.
    software: Any
    name: str
    host: str

    @property
    def address(self) -> str:
        return self.context.address_of(self.host)


class EngineComponent(BaseComponent):
    """One engine. ``STEP`` orders the starts: an engine that others connect to has a lower one."""

    KIND: ClassVar[Kind]
    STEP: ClassVar[int] = 2

    def __init__(self, setting: EngineSetting) -> None:
        self.setting = setting
        self.context = setting.context
        self.gate_open = False
        self.log = self.context.folder.log_path(setting.host, setting.name)
        policy = RestartPolicy.of(setting.part.restart)
        process = ComponentProcess(
            setting.name, setting.host, self._launch, self._tell, policy=policy, grace_s=self.stop_grace_s()
        )
        super().__init__(setting.name, "engine", setting.host, [process])

    # ---- what a plug-in overrides

    @classmethod
    def prepare(cls, parts: Sequence[Engine], progress: Progress) -> Any:
        """Fetch the software that these engines need, before the run. The result becomes ``setting.software``."""
        return None

    @classmethod
    def prepare_program(
        cls, part: Engine, engines: Sequence[Engine], base: Path, software: Any, progress: Progress
    ) -> Any:
        """The software of one of the engines, with its program if that must be compiled. BadInput if it cannot be."""
        return software

    @classmethod
    def make(cls, setting: EngineSetting) -> list[EngineComponent]:
        """The components that run one engine of the experiment."""
        return [cls(setting)]

    def command(self, start: int) -> list[str]:
        """The argument list of the process; ``start`` is the number of the start, from 1."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """Environment variables besides ``S2G_*`` and those of the experiment."""
        return {}

    def files(self) -> Mapping[str, bytes]:
        """Files to write on the host before the start, by absolute path."""
        return {}

    def know_others(self, engines: Sequence[EngineComponent]) -> None:
        """Called once with all engines of the run, this one among them."""

    def starts_early(self) -> bool:
        """Whether it may start before brokers and stores are there, because it waits at its gate."""
        return False

    def ready(self) -> bool:
        return all(process.running or process.state == "finished" for process in self.processes)

    def is_warm(self) -> bool:
        """Whether it has done what the warm-up lasts for; asked only in runs with a warm-up."""
        return True

    def why_not_warm(self) -> str:
        """Why it is not warm yet, in words, for the error of a warm-up that failed."""
        return "it has done nothing yet"

    def why_never_warm(self) -> str:
        """Why it will never be warm; empty while that is not known."""
        return ""

    def ready_timeout_s(self) -> float:
        """How long the run waits for it to be ready."""
        return READY_TIMEOUT_S

    def stop_grace_s(self) -> float:
        """Time between SIGTERM and SIGKILL."""
        return 8.0

    def why_not_ready(self) -> str:
        """Why it is not ready yet, in words, for the error of a start that failed."""
        return "it does not run"

    def cause(self) -> str:
        """Why it died, in a sentence; empty if that is unknown."""
        return ""

    def look(self) -> None:
        """Sample what can be observed of it; called twice a second, and when it ends."""

    def ended(self) -> None:
        """Note that its process has ended, possibly killed: what it was working on is over."""

    def reading(self) -> dict[str, dict[TopicPartition, int]]:
        """The next offset of every partition that it reads, by the name of the reader (a query)."""
        return {}

    def committing_groups(self) -> list[str]:
        """The groups in which it commits what it has processed. Kafka is asked for these offsets."""
        return []

    def settled(self) -> bool:
        """Whether it has processed everything that it has read."""
        return True

    # ---- what the run calls

    def move_to(self, host: str) -> None:
        super().move_to(host)
        self.setting = replace(self.setting, host=host)
        self.log = self.context.folder.log_path(host, self.name)

    def open_gate(self) -> None:
        """Let it begin its work: topics and stores are there."""
        self.gate_open = True

    def close(self) -> None:
        """Release what it holds outside the network."""

    def _launch(self, start: int) -> Process:
        return self.context.spawn(
            self.host,
            self.command(start),
            name=self.name,
            log=self.log,
            on_line=status_listener(self.log, self._on_report),
            cwd=self.context.root,
            env={**self._variables(), **self.environment(), **self.setting.part.env},
            files=self.files(),
        )

    def _variables(self) -> dict[str, str]:
        experiment, context = self.context.experiment, self.context
        variables = {
            "S2G_COMPONENT": self.name,
            "S2G_INSTANCE": "1",
            "S2G_BOOTSTRAP": bootstrap(self.setting.nodes),
            "S2G_TOPICS": ",".join(topic.name for topic in experiment.topics),
            "S2G_RUN": str(context.folder.path.absolute()),
            "S2G_OUT": str((context.folder.work / self.name).absolute()),
            "S2G_SEED": str(context.plan.seed),
            "S2G_TIME_S": f"{float(experiment.time):g}",
            "PYTHONUNBUFFERED": "1",
        }
        return variables | store_variables(context)

    def _tell(self, kind: str, **details: Any) -> None:
        if kind in ("died", "stopped"):
            self.look()
            self.ended()
        if kind == "died":
            details |= death(self.log, self.cause())
        self.context.tell(kind, **details)

    def _on_report(self, report: dict[str, Any]) -> None:
        self.context.record_report(self.name, self.host, report)


def store_variables(context: RunContext) -> dict[str, str]:
    """Where stores are: ``S2G_STORE_HOST`` and so on of the first, ``S2G_STORE_NAME_HOST`` and so on of each."""
    variables: dict[str, str] = {}
    for number, store in enumerate(context.experiment.stores):
        kind = registry("store").find(store.type)
        if kind is None or kind.port is None:
            continue
        settings = store.checked_settings
        known = {
            "HOST": context.address_of(context.host_of(str(store.name))),
            "PORT": str(getattr(settings, "port", None) or kind.port),
            "DATABASE": str(getattr(settings, "database", "")),
            "USER": str(getattr(settings, "user", "")),
            "PASSWORD": str(getattr(settings, "password", "")),
        }
        if kind.name == "mysql":
            known["JDBC"] = f"jdbc:mariadb://{known['HOST']}:{known['PORT']}/{known['DATABASE']}"
        if kind.name == "mongodb":
            known["URI"] = f"mongodb://{known['HOST']}:{known['PORT']}/{known['DATABASE']}"
        stems = [f"S2G_STORE_{str(store.name).upper().replace('-', '_').replace('.', '_')}"]
        stems += ["S2G_STORE"] if number == 0 else []
        variables |= {f"{stem}_{key}": value for stem in stems for key, value in known.items()}
    return variables


def engine_class(type_: str) -> type[EngineComponent]:
    """The class that runs engines of this type."""
    return find_class("engine", type_, EngineComponent, _BUILT_IN)


def prepare_engines(parts: Sequence[Engine], base: Path, progress: Progress) -> dict[str, Any]:
    """Fetch the software of every engine, and check or compile programs. Returns it by the name of the engine."""
    software = prepare_software(parts, engine_class, progress)
    mistakes: list[Mistake] = []
    for part in parts:
        name = str(part.name)
        try:
            software[name] = engine_class(part.type).prepare_program(part, parts, base, software[name], progress)
        except BadInput as error:
            mistakes += error.mistakes
    if mistakes:
        raise BadInput(list(dict.fromkeys(mistakes)))
    return software


def make_engines(context: RunContext, software: Mapping[str, Any]) -> list[EngineComponent]:
    """Every engine of the experiment, in the order in which they start."""
    made = [one for part in context.experiment.engines for one in make_engine(context, part, software)]
    for engine in made:
        engine.know_others(made)
    return sorted(made, key=lambda engine: engine.STEP)


def make_engine(context: RunContext, part: Engine, software: Mapping[str, Any]) -> list[EngineComponent]:
    """The components that run one engine of the experiment."""
    name = str(part.name)
    host = context.host_of(name)
    return engine_class(part.type).make(
        EngineSetting(
            context, part, part.checked_settings, context.nodes, context.base, software.get(name), name, host
        )
    )
