"""A Flink job on its host: a mini-cluster in one process that runs SQL statements, a Java or a PyFlink program.

The process starts before the brokers, plans the statements and starts its cluster, and is held at its gate until
topics are there. A client of ours on the observer host asks its REST interface twice a second: that tells when it is
ready, how far it has read, what it did, and why it failed. A process that is started again begins from the last
complete checkpoint of any process before it; without one, or after a wipe, it begins from nothing.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.components.cluster import property_texts
from stream2gym.components.engine import EngineComponent, EngineSetting
from stream2gym.components.engine_gate import EngineGate
from stream2gym.components.flink_config import MB, Ports, config_yaml, mini_config, number_of_process
from stream2gym.components.flink_program import FlinkProgram, explain_death, newest_checkpoint, prepare_program
from stream2gym.components.flink_state import FlinkState
from stream2gym.components.status_lines import status_listener
from stream2gym.components.topics import TopicPartition
from stream2gym.errors import Defect, StartFailed
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.kinds.engine_settings import KINDS
from stream2gym.kinds.registry import Kind
from stream2gym.own_python import own_python
from stream2gym.software.fetch import Progress
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.flink_start_cache import with_start_caches
from stream2gym.software.resolve import ensure_packages
from stream2gym.spec.model import Engine

WATCH_EVERY_S = 0.5
# Without an answer of the REST interface for this long, nobody knows what the job does.
SILENT_S = 3.0


def prepare_flink(parts: Sequence[Engine], progress: Progress) -> FlinkSoftware:
    """Fetch Flink and the packages that these jobs name."""
    software = FlinkSoftware.ensure(progress=progress)
    wanted = sorted({str(one).strip() for part in parts for one in part.settings.get("packages", ())})
    return with_start_caches(software.with_packages(ensure_packages(wanted, progress)))


class FlinkJobBase(EngineComponent):
    """What a job in a mini-cluster and a job manager with its program have in common. ``state`` is what REST told."""

    def __init__(self, setting: EngineSetting) -> None:
        context = setting.context
        self.settings: Any = setting.settings
        self.program: FlinkProgram = setting.software
        self.checkpoints = (context.folder.work / setting.name / "checkpoints").absolute()
        self.ports = Ports.of(number_of_process(setting.name, context.experiment.engines))
        self.folder = f"{WORK}/{setting.name}"
        self._gate = EngineGate(context, setting.name)
        self._watch: Process | None = None
        # Whether a fault has removed what it could begin from.
        self._is_wiped = False
        self._taking = threading.Lock()
        self.state = FlinkState(
            setting.name,
            setting.host,
            {topic.name: topic.partitions for topic in context.experiment.topics},
            context.tell,
            context.sample,
            has_checkpoints=float(self.settings.checkpoint_every) > 0,
        )
        super().__init__(setting)
        self._statements = self.program.statements(self._sql_variables())

    @classmethod
    def prepare(cls, parts: Sequence[Engine], progress: Progress) -> FlinkSoftware:
        return prepare_flink(parts, progress)

    @classmethod
    def prepare_program(
        cls, part: Engine, engines: Sequence[Engine], base: Path, software: Any, progress: Progress
    ) -> FlinkProgram:
        return prepare_program(part, base, software, progress)

    def starts_early(self) -> bool:
        return True

    def start(self) -> None:
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        self._gate.make(is_open=self.gate_open)
        super().start()
        self._start_watch()

    def open_gate(self) -> None:
        super().open_gate()
        self._gate.open()

    def close(self) -> None:
        self._gate.remove()

    def wipe(self) -> None:
        """Remove every checkpoint, so that the next start begins from nothing."""
        self._is_wiped = True
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.checkpoints.mkdir(parents=True, exist_ok=True)

    def files(self) -> Mapping[str, bytes]:
        given = property_texts(self.setting.part.config)
        return {
            f"{self.folder}/config.yaml": config_yaml(self.config(), given),
            f"{self.folder}/statements": self._statements,
        }

    def config(self) -> Mapping[str, str]:
        """The configuration of its process."""
        raise NotImplementedError

    def program_config(self) -> dict[str, Any]:
        """The arguments of both makers of configurations that are about the program."""
        return {
            "name": self.program.app.stem,
            "ports": self.ports,
            "parallelism": self.settings.parallelism,
            "checkpoints": self.checkpoints.as_uri(),
            "checkpoint_every_s": float(self.settings.checkpoint_every),
            "restore": self._restored_from(),
            "scratch": self.folder,
        }

    def jvm_flags(self, start: int) -> list[str]:
        """What the class that runs the program is told."""
        gate = self._gate_at(start)
        # A PyFlink program waits at the gate itself, when it has imported what it needs.
        held = [f"-Ds2g.gate={gate}"] if gate and self.program.python is None else []
        return [*held, f"-Ds2g.name={self.setting.part.app}"]

    def program_arguments(self, start: int) -> list[str]:
        """The arguments of that class."""
        return self.program.arguments(
            self.setting.part.args,
            statements=f"{self.folder}/statements",
            folder=str(self.context.root),
            gate=self._gate_at(start),
        )

    def _gate_at(self, start: int) -> str:
        """The pipe at which a start waits; empty if it does not."""
        return str(self._gate.path) if start == 1 else ""

    def environment(self) -> Mapping[str, str]:
        return {"S2G_CHECKPOINT": str(self.checkpoints), **self.program.environment()}

    def ready(self) -> bool:
        process = self.processes[0]
        if process.state == "finished" or self.settings.ready == "start":
            return process.state in ("finished", "running")
        return self.settings.ready == "job" and process.running and self.state.is_ready()

    @property
    def hopeless(self) -> bool:
        return super().hopeless or bool(self._slots_missing())

    def ready_timeout_s(self) -> float:
        return float(self.settings.ready_timeout)

    def why_not_ready(self) -> str:
        if self.settings.ready == "exit":
            return "it has not ended (ready: exit waits for that)"
        job = self.state.job
        if job is None:
            return "it has not started a job (a program that never does needs 'ready: exit' or 'start')"
        if not job.is_working:
            return f"its job is {job.state}" + (f": {job.cause}" if job.cause else "")
        missing = ", ".join(f"{topic}/{number}" for topic, number in self.state.missing_partitions())
        return f"its sources have no partition {missing}" if missing else "its sources have no partitions"

    def cause(self) -> str:
        if missing := self._slots_missing():
            return missing
        topics = [topic.name for topic in self.context.experiment.topics]
        return explain_death(self.log, self.state.cause, topics, int(self.settings.memory) // MB)

    def _slots_missing(self) -> str:
        """Why the job can never run: it asks for more slots than there are. Empty while it can."""
        wanted, has = self.state.wanted_slots(), self.state.slots
        if not wanted or not has:
            return ""
        return f"its job asks for {has + wanted} slots, and its mini-cluster has {has}: parallelism: {has + wanted}"

    def look(self) -> None:
        """Raise StartFailed when the REST interface tells nothing any more, so that the time without samples is
        known. The watch samples what it tells."""
        process = self.processes[0]
        with self._taking:
            silent_s = self.state.silent_s()
        if process.running and not process.is_asked_to_end and silent_s > SILENT_S:
            raise StartFailed(f"Flink's REST interface has told nothing for {silent_s:.1f} s")

    def ended(self) -> None:
        with self._taking:
            self.state.forget()

    def reading(self) -> dict[str, dict[TopicPartition, int]]:
        with self._taking:
            return {} if self.processes[0].over else self.state.reading()

    def settled(self) -> bool:
        if self.processes[0].over or self.settings.ready == "start":
            return True
        with self._taking:
            return self.state.is_settled()

    def _restored_from(self) -> str | None:
        """The checkpoint that the next start begins from."""
        found = newest_checkpoint(self.checkpoints)
        given = self.settings.restore
        if found is None and given is not None and not self._is_wiped:
            found = self.setting.base.absolute() / given
        return None if found is None else found.as_uri()

    def _sql_variables(self) -> dict[str, str]:
        address = {"S2G_HOST": self.host, "S2G_ADDRESS": self.setting.address}
        return {**address, **self._variables(), **self.environment(), **self.setting.part.env}

    def _start_watch(self) -> None:
        """Start the client that asks the REST interface. It ends with the run."""
        observer = self.context.plan.network.observer
        if observer is None:
            raise Defect("the plan has no observer host")
        name = f"{self.name}-watch"
        log = self.context.folder.log_path(observer.name, name)
        where = [self.setting.address, str(self.ports.rest), f"{WATCH_EVERY_S:g}"]
        argv = own_python("-m", "stream2gym.clients.flink_watch", *where)
        self._watch = self.context.spawn(
            observer.name, argv, name=name, log=log, on_line=status_listener(log, self._take)
        )

    def _take(self, told: dict[str, Any]) -> None:
        with self._taking:
            if self.processes[0].running:
                self.state.take(told)


class FlinkJob(FlinkJobBase):
    """A job in a mini-cluster."""

    KIND: ClassVar[Kind] = next(kind for kind in KINDS if kind.name == "flink")

    def command(self, start: int) -> list[str]:
        heap_mb = max(1, int(self.settings.memory) // MB)
        flags = [*self.jvm_flags(start), f"-Ds2g.mini={self.folder}"]
        jvm = self.program.software.command("mini", heap_mb=heap_mb, jars=self.program.jars, flags=flags)
        return [*jvm, *self.program_arguments(start)]

    def config(self) -> Mapping[str, str]:
        return {**mini_config(**self.program_config()), **self.program.config()}

    def move_to(self, host: str) -> None:
        super().move_to(host)
        self.state.host = host
        self._statements = self.program.statements(self._sql_variables())
        if self._watch is not None:
            self._watch.signal()
        self._start_watch()
