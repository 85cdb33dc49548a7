"""An engine: a program of the user's under a stream processing engine, in one process that we start.

A plug-in is a subclass with a ``KIND`` and a ``command``, named by an entry point of the group
``stream2gym.engines``; everything else here has a default. The run makes an engine before the brokers start, so
that slow starts overlap, opens its gate when topics and stores are there, and waits until it is ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.components.base import ProcessComponent
from stream2gym.components.causes import death
from stream2gym.components.cluster import Node, bootstrap
from stream2gym.components.stage import Stage
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.components.words import samples_in, word_listener
from stream2gym.errors import CannotHere
from stream2gym.hosts.process import Process
from stream2gym.kinds.registry import Kind, registry
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Engine

GROUP = "stream2gym.engines"
READY_TIMEOUT_S = 120.0
Place = tuple[str, int]
_BUILT_IN = {
    "spark": "stream2gym.components.spark:SparkJob",
    "spark-master": "stream2gym.components.spark_cluster:SparkMaster",
    "spark-worker": "stream2gym.components.spark_cluster:SparkWorker",
}


@dataclass(frozen=True)
class Setting:
    """What an engine is given: its part of the experiment, its checked settings, and what it stands on."""

    stage: Stage
    part: Engine
    settings: Any  # an instance of its kind's settings model
    nodes: tuple[Node, ...]
    base: Path  # relative paths of the experiment stand against it
    software: Any  # what ``prepare`` of its class gave
    name: str
    host: str

    @property
    def address(self) -> str:
        return self.stage.address_of(self.host)


class EngineComponent(ProcessComponent):
    """One engine. ``STEP`` orders starts: what others connect to has a lower one."""

    KIND: ClassVar[Kind]
    STEP: ClassVar[int] = 2

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.stage = setting.stage
        self.gate_open = False
        self.log = self.stage.folder.log_path(setting.host, setting.name)
        restart = setting.part.restart
        policy = RestartPolicy(restart.times, float(restart.delay))
        unit = Unit(
            setting.name, setting.host, self._launch, self._tell, policy=policy, grace_s=self.stop_grace_s()
        )
        super().__init__(setting.name, "engine", setting.host, [unit])

    # ---- what a plug-in says

    @classmethod
    def prepare(cls, parts: Sequence[Engine], progress: Progress) -> Any:
        """Fetch the software that these engines need, before the run; the answer is ``setting.software``."""
        return None

    @classmethod
    def make(cls, setting: Setting) -> list[EngineComponent]:
        """The components that one engine of the experiment stands for."""
        return [cls(setting)]

    def command(self, start: int) -> list[str]:
        """The argument list of the ``start``-th start."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """Variables beyond ``S2G_*`` and those of the experiment."""
        return {}

    def files(self) -> Mapping[str, bytes]:
        """Files to write on the host before the start, by absolute path."""
        return {}

    def starts_early(self) -> bool:
        """Whether it may start before brokers and stores are there, because it waits at its gate."""
        return False

    def ready(self) -> bool:
        return all(unit.running or unit.state == "finished" for unit in self.units)

    def ready_timeout_s(self) -> float:
        return READY_TIMEOUT_S

    def stop_grace_s(self) -> float:
        return 8.0

    def why_not_ready(self) -> str:
        return "it does not run"

    def cause(self) -> str:
        """Why it died, in a sentence, when that is known."""
        return ""

    def look(self) -> None:
        """Write down what can be seen of it now; called twice a second."""

    def ended(self) -> None:
        """Its process is gone, killed perhaps: what was under way in it is over."""

    def reading(self) -> dict[str, dict[Place, int]]:
        """How far it has read: the next offset of every partition, by who reads (a query)."""
        return {}

    def settled(self) -> bool:
        """Whether it has worked off what it has read."""
        return True

    # ---- what the run does with it

    def open_gate(self) -> None:
        """Topics and stores are there."""
        self.gate_open = True

    def close(self) -> None:
        """Let go of what it holds outside the network."""

    def _launch(self, start: int) -> Process:
        return self.stage.spawn(
            self.host,
            self.command(start),
            name=self.name,
            log=self.log,
            on_line=word_listener(self.log, self._hear),
            cwd=self.stage.root,
            env={**self._variables(), **self.environment(), **self.setting.part.env},
            files=self.files(),
        )

    def _variables(self) -> dict[str, str]:
        experiment, stage = self.stage.experiment, self.stage
        variables = {
            "S2G_COMPONENT": self.name,
            "S2G_INSTANCE": "1",
            "S2G_BOOTSTRAP": bootstrap(self.setting.nodes),
            "S2G_TOPICS": ",".join(topic.name for topic in experiment.topics),
            "S2G_RUN": str(stage.folder.path.absolute()),
            "S2G_OUT": str((stage.folder.work / self.name).absolute()),
            "S2G_SEED": str(stage.plan.seed),
            "S2G_TIME_S": f"{float(experiment.time):g}",
            "PYTHONUNBUFFERED": "1",
        }
        return variables | store_variables(stage)

    def _tell(self, kind: str, **details: Any) -> None:
        if kind in ("died", "stopped"):
            self.look()
            self.ended()
        if kind == "died":
            details |= death(self.log, self.cause())
        self.stage.tell(kind, **details)

    def _hear(self, said: dict[str, Any]) -> None:
        if "event" in said:
            known = ("event", "component", "host", "at_ns")
            details = {key: value for key, value in said.items() if key not in known}
            self.stage.tell(
                "program", component=self.name, host=self.host, name=str(said["event"]), details=details
            )
            return
        for metric, value in samples_in(said):
            self.stage.sample("program", self.name, metric, value)


def store_variables(stage: Stage) -> dict[str, str]:
    """Where the first store is; further ones are found by their name: ``S2G_STORE_NAME_HOST``."""
    variables: dict[str, str] = {}
    for number, store in enumerate(stage.experiment.stores):
        kind = registry("store").find(store.type)
        if kind is None or kind.port is None:
            continue
        settings = kind.settings.model_validate(store.settings)
        known = {
            "HOST": stage.address_of(stage.host_of(str(store.name))),
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


@cache
def engine_class(type_: str) -> type[EngineComponent]:
    """The class that runs engines of this type."""
    kind = registry("engine").find(type_)
    if kind is not None and kind.name in _BUILT_IN:
        module, _, name = _BUILT_IN[kind.name].partition(":")
        found: type[EngineComponent] = getattr(import_module(module), name)
        return found
    for entry in entry_points(group=GROUP):
        if kind is not None and entry.name.lower() in (kind.name.lower(), *map(str.lower, kind.also)):
            loaded = entry.load()
            if isinstance(loaded, type) and issubclass(loaded, EngineComponent):
                return loaded
    raise CannotHere(
        f"nothing here runs engines of type {type_}",
        f"name a class in an entry point of the group {GROUP}; known types: {', '.join(registry('engine').names())}",
    )


def prepare_engines(parts: Sequence[Engine], progress: Progress) -> dict[str, Any]:
    """The software of every engine, by the engine's name; each class is asked once."""
    by_class: dict[type[EngineComponent], list[Engine]] = {}
    for part in parts:
        by_class.setdefault(engine_class(part.type), []).append(part)
    return {
        str(part.name): software
        for cls, own in by_class.items()
        for software in [cls.prepare(own, progress)]
        for part in own
    }


def make_engines(
    stage: Stage, nodes: tuple[Node, ...], base: Path, software: Mapping[str, Any]
) -> list[EngineComponent]:
    """Every engine of the experiment, in the order in which they start."""
    made: list[EngineComponent] = []
    for part in stage.experiment.engines:
        cls = engine_class(part.type)
        kind = registry("engine").find(part.type)
        settings = None if kind is None else kind.settings.model_validate(part.settings)
        name = str(part.name)
        own = software.get(name)
        made += cls.make(Setting(stage, part, settings, nodes, base, own, name, stage.host_of(name)))
    return sorted(made, key=lambda engine: engine.STEP)
