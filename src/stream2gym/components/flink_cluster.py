"""A standalone Flink cluster over emulated hosts: a job manager in application mode, and task managers.

The job manager runs one program, whose tasks run on the hosts of the task managers. A task manager is ready when the
job manager counts it. The job outlives task managers: it goes on from its last checkpoint when there are slots again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.components.cluster import property_texts
from stream2gym.components.engine import EngineComponent, EngineSetting
from stream2gym.components.engine_hosts import task_managers_of
from stream2gym.components.flink import FlinkJobBase, prepare_flink
from stream2gym.components.flink_config import (
    MB,
    Ports,
    config_yaml,
    job_manager_config,
    number_of_process,
    task_manager_config,
)
from stream2gym.components.flink_program import FlinkProgram, explain_death, prepare_program
from stream2gym.hosts.emulated_host import WORK
from stream2gym.kinds.engine_settings import KINDS, FlinkTaskManagerSettings
from stream2gym.kinds.registry import Kind
from stream2gym.software.fetch import Progress
from stream2gym.software.flink_software import PROGRAM
from stream2gym.spec.model import Engine

WIPE_S = 30.0
# Why neither side of a cluster is moved.
FIXED = "others of its cluster know it by its address"


class FlinkJobManager(FlinkJobBase):
    """The job manager of one program."""

    KIND: ClassVar[Kind] = next(kind for kind in KINDS if kind.name == "flink-jobmanager")

    def command(self, start: int) -> list[str]:
        heap_mb = max(1, int(self.settings.memory) // MB)
        software = self.program.software
        jvm = software.command("jobmanager", heap_mb=heap_mb, jars=self.program.jars, flags=self.jvm_flags(start))
        return [*jvm, "-c", self.folder, "--job-classname", PROGRAM, *self.program_arguments(start)]

    def config(self) -> Mapping[str, str]:
        own = job_manager_config(address=self.setting.address, **self.program_config())
        return {**own, **self.program.config()}

    def why_not_movable(self) -> str:
        return FIXED

    def _slots_missing(self) -> str:
        wanted = self.state.wanted_slots()
        expected = len(task_managers_of(self.name, self.context.experiment.engines))
        if not wanted or self.state.task_managers < expected:
            return ""
        has = self.state.slots
        return f"its job asks for {has + wanted} slots, and its task managers have {has}: give them more 'slots'"


class FlinkTaskManager(EngineComponent):
    """A task manager. It starts after the job manager, which is waited for when its tasks run."""

    KIND: ClassVar[Kind] = next(kind for kind in KINDS if kind.name == "flink-taskmanager")
    STEP = 1

    def __init__(self, setting: EngineSetting) -> None:
        self.settings: FlinkTaskManagerSettings = setting.settings
        context = setting.context
        engines = context.experiment.engines
        self._manager = self.settings.jobmanager
        self._manager_address = context.address_of(context.host_of(self._manager))
        self._manager_ports = Ports.of(number_of_process(self._manager, engines))
        self._ports = Ports.of(number_of_process(setting.name, engines))
        self._folder = f"{WORK}/{setting.name}"
        super().__init__(setting)

    @classmethod
    def prepare_program(
        cls, part: Engine, engines: Sequence[Engine], base: Path, software: Any, progress: Progress
    ) -> FlinkProgram:
        """The program of its job manager, because the classes of tasks are those of the program."""
        manager = next(one for one in engines if str(one.name) == part.settings.get("jobmanager"))
        return prepare_program(manager, base, prepare_flink([manager], progress), progress)

    def starts_early(self) -> bool:
        return True

    def command(self, start: int) -> list[str]:
        program: FlinkProgram = self.setting.software
        heap_mb = max(1, int(self.settings.memory) // MB)
        return [*program.software.command("taskmanager", heap_mb=heap_mb, jars=program.jars), "-c", self._folder]

    def files(self) -> Mapping[str, bytes]:
        own = task_manager_config(
            address=self.setting.address,
            manager=self._manager_address,
            manager_ports=self._manager_ports,
            ports=self._ports,
            slots=self.settings.slots,
            heap_mb=int(self.settings.memory) // MB,
            scratch=self._folder,
        )
        return {f"{self._folder}/config.yaml": config_yaml(own, property_texts(self.setting.part.config))}

    def wipe(self) -> None:
        """Remove its local files: what its tasks keep there besides checkpoints, which are not its own."""
        argv = ["rm", "-rf", "--", self._folder]
        self.context.spawn(self.host, argv, name="wipe", log=self.log).wait(WIPE_S)

    def why_not_movable(self) -> str:
        return FIXED

    def environment(self) -> Mapping[str, str]:
        # What it says to Kafka is the job's.
        program: FlinkProgram = self.setting.software
        return {"S2G_COMPONENT": self._manager, "S2G_INSTANCE": "1", **program.environment()}

    def cause(self) -> str:
        return explain_death(self.log, "", (), int(self.settings.memory) // MB)
