"""A PySpark program on its host, started as ``spark-submit`` would, and observed through Spark's own event log.

It is ready when a streaming query runs and its sources are subscribed. The event log shows that: the query has
finished a trigger or has begun a job. On a cluster its executors must have registered, too. With ``ready: batch`` it
is warm when every query has finished a batch. The progress of queries becomes samples, and the end of a query an
event with the cause.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from stream2gym.clients import start_gate
from stream2gym.components.cluster import property_texts
from stream2gym.components.death_cause import SEARCHED_LINES, first_cause, with_remedy
from stream2gym.components.engine import EngineComponent, EngineSetting
from stream2gym.components.engine_gate import GatedEngine
from stream2gym.components.program_command import resolve_python
from stream2gym.components.run_context import end_of_log
from stream2gym.components.spark_cluster import MASTER_PORT, SparkMaster, SparkWorker, master_url, slots_of
from stream2gym.components.spark_executors import ExecutorWatch, WorkerRoom, expected_cores
from stream2gym.components.spark_log import LogTail, Queries
from stream2gym.components.topics import TopicPartition
from stream2gym.hosts.emulated_host import WORK
from stream2gym.kinds.engine_settings import KINDS, SparkMasterSettings, SparkSettings, SparkWorkerSettings
from stream2gym.kinds.registry import Kind
from stream2gym.software.fetch import Progress
from stream2gym.software.resolve import ensure_packages
from stream2gym.software.spark_software import SUBMIT, SparkSoftware
from stream2gym.software.spark_start_cache import with_start_cache
from stream2gym.spec.model import Engine, Restart

MB = 1024**2
_PACKAGES = "spark.jars.packages"
_NO_TOPIC = "UnknownTopicOrPartition"
_OTHER_OFFSETS = re.compile(r"data may have been (lost|missed)|offset was changed from|KAFKA_DATA_LOSS", re.I)
_OTHER_CHECKPOINT = (
    "its checkpoint knows offsets that these topics never had, as one from another experiment does: "
    "begin with an empty folder, like the one that S2G_CHECKPOINT names"
)
_NO_ROOM = "Initial job has not accepted any resources"
_CLOSED = re.compile(rb"TextSocketMicroBatchStream: Stream closed by (\S+)")
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
DEFAULT_MEMORY_MB = 512
# How often a query without work reports that it is idle.
IDLE_NEWS_MS = 500
WIPE_S = 10.0


def spark_properties(
    setting: EngineSetting, *, master: str, slots: int, checkpoints: str, events: Path
) -> dict[str, str]:
    """The Spark properties of a job: ours, overridden by the experiment's. The program itself may override both."""
    settings: SparkSettings = setting.settings
    own = {
        "spark.master": master,
        "spark.app.name": Path(str(setting.part.app)).stem,
        "spark.driver.host": setting.address,
        "spark.driver.bindAddress": setting.address,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # At INFO a query without work writes a hundred lines a second.
        "spark.log.level": "WARN",
        "spark.local.dir": f"{WORK}/{setting.name}/spark",
        "spark.sql.warehouse.dir": f"{WORK}/{setting.name}/warehouse",
        "spark.sql.shuffle.partitions": str(slots),
        "spark.sql.streaming.checkpointLocation": checkpoints,
        "spark.sql.streaming.noDataProgressEventInterval": str(IDLE_NEWS_MS),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        # An executor would inherit the name of its worker; what it says to Kafka is the job's.
        "spark.executorEnv.S2G_COMPONENT": setting.name,
        "spark.executorEnv.S2G_INSTANCE": "1",
    }
    if settings.cores is not None:
        own["spark.cores.max"] = str(settings.cores)
    if not master.startswith("local"):
        jars = os.pathsep.join(map(str, (*setting.software.jars, *setting.software.packages)))
        own |= {"spark.executor.extraClassPath": jars, "spark.executor.memory": f"{_executor_mb(settings)}m"}
    given = property_texts(setting.part.config)
    # Packages are resolved before the run, because there is no outside network inside it.
    given.pop(_PACKAGES, None)
    return own | given


def wanted_packages(part: Engine) -> list[str]:
    """The Maven coordinates that a job asks for, in our key or in Spark's. The Kafka connector is there anyway."""
    asked = [*part.settings.get("packages", ()), *str(part.config.get(_PACKAGES, "")).split(",")]
    words = [str(one).strip() for one in asked]
    return [word for word in words if word and ":spark-sql-kafka-0-10_" not in word]


def _memory_mb(settings: SparkSettings) -> int:
    return DEFAULT_MEMORY_MB if settings.memory is None else max(1, int(settings.memory) // MB)


def _executor_mb(settings: SparkSettings) -> int:
    """The memory of an executor. It fits into its worker if the worker belongs to the job."""
    room = settings.worker_memory
    return _memory_mb(settings) if room is None else min(_memory_mb(settings), int(room) // MB)


def local_slots(master: str) -> int:
    """How many tasks a ``local[k]`` master runs at once."""
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    if inside == "*":
        return os.cpu_count() or 1
    return int(inside) if inside.isdigit() else 1


class SparkJob(GatedEngine):
    """One program. ``queries`` holds what its event log has told so far."""

    KIND: ClassVar[Kind] = KINDS[0]

    def __init__(self, setting: EngineSetting) -> None:
        context, settings = setting.context, setting.settings
        self.settings: SparkSettings = settings
        own = (context.folder.work / setting.name).absolute()
        self._events = own / "events"
        self._checkpoints = (
            f"{WORK}/{setting.name}/checkpoints" if settings.checkpoints == "memory" else str(own / "checkpoints")
        )
        self._looking = threading.Lock()
        self._own_log = LogTail(context.folder.logs)
        # How many queries earlier starts had.
        self._queries_before = 0
        self.queries = Queries(setting.name, setting.host, self._events, context.tell, context.sample)
        self.master, self.slots = self._master(setting)
        super().__init__(setting)
        cores = expected_cores(self._list_worker_rooms(), self._properties(), _executor_mb(settings))
        self._executors = ExecutorWatch(0 if self.master.startswith("local") else cores)

    @classmethod
    def prepare(cls, parts: Sequence[Engine], progress: Progress) -> SparkSoftware:
        software = SparkSoftware.ensure(progress=progress)
        wanted = sorted({one for part in parts for one in wanted_packages(part)})
        return with_start_cache(replace(software, packages=ensure_packages(wanted, progress)))

    @classmethod
    def make(cls, setting: EngineSetting) -> list[EngineComponent]:
        """The program, and with the published key ``cluster`` a master and workers on its own host, too."""
        settings: SparkSettings = setting.settings
        if not settings.cluster:
            return [cls(setting)]
        bare = setting.part.model_copy(update={"restart": Restart()})
        master = replace(setting, part=bare, name=f"{setting.name}-master", settings=SparkMasterSettings())
        url = f"spark://{setting.address}:{MASTER_PORT}"
        workers = [
            replace(setting, part=bare, name=f"{setting.name}-worker-{number}", settings=_worker(settings))
            for number in range(1, (settings.workers or 1) + 1)
        ]
        return [SparkMaster(master), *(SparkWorker(worker, url) for worker in workers), cls(setting)]

    def starts_early(self) -> bool:
        return self.master.startswith("local")

    def start(self) -> None:
        self._events.mkdir(parents=True, exist_ok=True)
        super().start()

    def wipe(self) -> None:
        """Remove the checkpoints of its queries, so that the next start begins from nothing."""
        argv = ["rm", "-rf", "--", self._checkpoints]
        self.context.spawn(self.host, argv, name="wipe", log=self.log).wait(WIPE_S)

    def command(self, start: int) -> list[str]:
        setting, part = self.setting, self.setting.part
        properties = self._properties()
        app = str(setting.base.absolute() / str(part.app))
        held = [start_gate.__file__, app] if start == 1 else [app]
        confs = [word for key, value in properties.items() for word in ("--conf", f"{key}={value}")]
        jvm_options = properties.get("spark.driver.extraJavaOptions", "").split()
        software: SparkSoftware = setting.software
        heap_mb = _memory_mb(self.settings)
        return [*software.command(SUBMIT, heap_mb=heap_mb, flags=jvm_options), *confs, *held, *part.args]

    def _properties(self) -> dict[str, str]:
        return spark_properties(
            self.setting,
            master=self.master,
            slots=self.slots,
            checkpoints=self._checkpoints,
            events=self._events,
        )

    def environment(self) -> Mapping[str, str]:
        python = self.settings.python
        interpreter = sys.executable if python is None else resolve_python(python, self.setting.base)
        return {
            **self.setting.software.environment,
            "PYSPARK_PYTHON": interpreter,
            "PYSPARK_DRIVER_PYTHON": interpreter,
            "SPARK_LOCAL_IP": self.setting.address,
            "S2G_MASTER": self.master,
            "S2G_CHECKPOINT": self._checkpoints,
            "S2G_GATE": str(self._gate.path),
        }

    def ready(self) -> bool:
        self.look()
        process = self.processes[0]
        if process.state == "finished" or self.settings.ready == "start":
            return process.state in ("finished", "running")
        if self.settings.ready == "exit" or not process.running:
            return False
        running = self.queries.now
        begun = self.queries.old_streams or (bool(running) and all(query.begun for query in running))
        return begun and self._executors.have_registered(self.queries.executor_cores)

    def is_warm(self) -> bool:
        if self.settings.ready != "batch" or self.processes[0].state == "finished":
            return True
        self.look()
        running = self.queries.now
        return bool(running) and all(query.batches for query in running)

    def why_not_warm(self) -> str:
        waiting = [query.name for query in self.queries.now if not query.batches]
        if not waiting:
            return "no query runs"
        return f"{', '.join(waiting)} had no batch with data; does anybody send to the topics that it reads?"

    def why_never_warm(self) -> str:
        if self.settings.ready == "batch" and self.queries.old_streams and not self.queries.by_run:
            return "a DStream program does not report its batches; use 'ready: query' and 'warmup: 10 s'"
        return ""

    def _list_worker_rooms(self) -> list[WorkerRoom]:
        """What the workers have for executors of this job; empty where nobody knows, as with several jobs."""
        settings, engines = self.settings, self.context.experiment.engines
        if settings.cluster:
            workers = [_worker(settings)] * (settings.workers or 1)
        else:
            jobs = [part for part in engines if part.type.lower() == "spark"]
            if len([part for part in jobs if part.settings.get("master") == settings.master]) > 1:
                return []
            workers = [
                part.checked_settings
                for part in engines
                if part.type.lower() == "spark-worker" and part.settings.get("master") == settings.master
            ]
        return [WorkerRoom(worker.cores, int(worker.memory) // MB) for worker in workers]

    def move_to(self, host: str) -> None:
        super().move_to(host)
        self.queries.host = host

    def why_not_movable(self) -> str:
        if self.settings.cluster:
            return "its master and its workers run on its host (cluster: true)"
        if self.settings.checkpoints == "memory":
            return f"its checkpoints are in the memory of {self.host} (checkpoints: memory)"
        return ""

    def ready_timeout_s(self) -> float:
        return float(self.settings.ready_timeout)

    def why_not_ready(self) -> str:
        if self.settings.ready == "exit":
            return "it has not ended (ready: exit waits for that)"
        if _NO_ROOM in end_of_log(self.log, SEARCHED_LINES):
            mb = _executor_mb(self.settings)
            return f"no worker has room for an executor of {mb} MiB (or none registered with the master)"
        if not self.queries.by_run:
            return "it has not started a streaming query (a program that never does needs 'ready: exit' or 'start')"
        if not self.master.startswith("local") and not self.queries.executor_cores:
            return "no executor has registered"
        return "the sources of its query have not answered"

    def cause(self) -> str:
        found = self.queries.cause or self._last_error()
        if _NO_TOPIC in found:
            names = ", ".join(topic.name for topic in self.context.experiment.topics) or "none"
            found += f" (it reads a topic that nobody made; there are: {names})"
        if _OTHER_OFFSETS.search(found):
            found += f" ({_OTHER_CHECKPOINT})"
        return found

    def look(self) -> None:
        with self._looking:
            self.queries.look()
            for line in self._own_log.new_lines(self.log):
                # Spark goes on as if there were no more data, and reports it nowhere else.
                if closed := _CLOSED.search(line):
                    self.context.tell("source-closed", component=self.name, host=self.host, source=closed[1].decode())

    def ended(self) -> None:
        for query in self.queries.now:
            query.over = True
        self.queries.lose_executors()
        self._queries_before = len(self.queries.by_run)

    def reading(self) -> dict[str, dict[TopicPartition, int]]:
        if self.processes[0].over or self.settings.mode == "real-time":
            return {}
        return {f"{self.name}.{query.name}": dict(query.positions) for query in self.queries.now}

    def settled(self) -> bool:
        if self.processes[0].over or self.settings.mode == "real-time" or self.settings.ready == "start":
            return True
        if self.queries.old_streams:
            # A DStream program does not report how far it is, so it gets the whole drain.
            return False
        if self.processes[0].state == "waiting" or 0 < len(self.queries.by_run) == self._queries_before:
            # It was started again and has not started its query yet.
            return False
        return all(query.idle for query in self.queries.now)

    def _last_error(self) -> str:
        """The last line of the log that names an error of Python or of Spark."""
        text = end_of_log(self.log, SEARCHED_LINES)
        if _OUT_OF_MEMORY in text:
            has = f"{_memory_mb(self.settings)} MiB"
            return f"out of memory ({_OUT_OF_MEMORY}): it has {has}; give it more, like 'memory: 1 GiB'"
        return with_remedy(first_cause(text))

    def _master(self, setting: EngineSetting) -> tuple[str, int]:
        """The URL of its Spark master, and how many tasks run there at once."""
        context, settings = setting.context, setting.settings
        asked = settings.master
        if settings.cluster:
            return f"spark://{setting.address}:{MASTER_PORT}", (settings.workers or 1) * _worker(settings).cores
        if asked is None:
            return f"local[{settings.cores or 1}]", settings.cores or 1
        if asked.startswith("local"):
            return asked, local_slots(asked)
        if asked.startswith("spark:"):
            return asked, settings.cores or 2
        slots = settings.cores or slots_of(context.experiment.engines, asked)
        return master_url(setting, asked), slots or 1


def _worker(settings: SparkSettings) -> SparkWorkerSettings:
    """The settings of a worker as the published keys ask for it."""
    keys = {"cores": settings.worker_cores, "memory": settings.worker_memory}
    given = {key: value for key, value in keys.items() if value is not None}
    return SparkWorkerSettings.model_validate({"master": "", **given})
