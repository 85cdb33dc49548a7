"""A standalone Spark cluster over emulated hosts: a master, and workers whose executors run on their own hosts.

Both are ready when their logs say so: the master is alive, or the worker has registered with it. What executors print
and store is in the run's work folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from stream2gym.components.engine import EngineComponent, EngineSetting
from stream2gym.kinds.engine_settings import KINDS, SparkMasterSettings, SparkWorkerSettings
from stream2gym.kinds.registry import Kind
from stream2gym.software.fetch import Progress
from stream2gym.software.spark_software import MASTER, WORKER, SparkSoftware
from stream2gym.spec.model import Engine

HEAP_MB = 256
MB = 1024**2
MASTER_PORT = 7077


def master_url(setting: EngineSetting, name: str) -> str:
    """The URL of the Spark master with that name."""
    part = next(part for part in setting.context.experiment.engines if str(part.name) == name)
    port = part.settings.get("port", MASTER_PORT)
    return f"spark://{setting.context.address_of(setting.context.host_of(name))}:{port}"


def slots_of(parts: Sequence[Engine], master: str) -> int:
    """How many tasks the workers of a master run at once."""
    return sum(
        int(part.settings.get("cores", 1))
        for part in parts
        if part.type.lower() == "spark-worker" and part.settings.get("master") == master
    )


class _Server(EngineComponent):
    """What master and worker have in common."""

    # What its log says when it is ready.
    SIGN: ClassVar[str]

    @classmethod
    def prepare(cls, parts: Sequence[Engine], progress: Progress) -> SparkSoftware:
        return SparkSoftware.ensure(progress=progress)

    def environment(self) -> Mapping[str, str]:
        return {
            **self.setting.software.environment,
            "SPARK_LOCAL_IP": self.setting.address,
            "SPARK_PUBLIC_DNS": self.setting.address,
        }

    def why_not_movable(self) -> str:
        return "others of its cluster know it by its address"

    def ready(self) -> bool:
        return super().ready() and self.SIGN in self._log_text()

    def why_not_ready(self) -> str:
        return f"its log does not say {self.SIGN!r}"

    def _log_text(self) -> str:
        try:
            return self.log.read_text("utf-8", errors="replace")
        except OSError:
            return ""


class SparkMaster(_Server):
    KIND: ClassVar[Kind] = KINDS[1]
    STEP = 0
    SIGN = "New state: ALIVE"

    def starts_early(self) -> bool:
        return True

    def command(self, start: int) -> list[str]:
        settings: SparkMasterSettings = self.setting.settings
        where = ["--host", self.setting.address, "--port", str(settings.port)]
        return [*self.setting.software.command(MASTER, heap_mb=HEAP_MB), *where]


class SparkWorker(_Server):
    KIND: ClassVar[Kind] = KINDS[2]
    STEP = 1
    SIGN = "Successfully registered with master"

    def __init__(self, setting: EngineSetting, url: str | None = None) -> None:
        self._url = url or master_url(setting, setting.settings.master)
        super().__init__(setting)

    def command(self, start: int) -> list[str]:
        settings: SparkWorkerSettings = self.setting.settings
        folder = (self.context.folder.work / self.name).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return [
            *self.setting.software.command(WORKER, heap_mb=HEAP_MB),
            "--host", self.setting.address, "--cores", str(settings.cores),
            "--memory", f"{int(settings.memory) // MB}m", "--work-dir", str(folder), self._url,
        ]  # fmt: skip
