"""The types of stream processing engines and the settings of each type."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stream2gym.kinds.capabilities import PROCESS, WITH_DATA
from stream2gym.kinds.kind import Kind
from stream2gym.kinds.settings import Model, Name, Texts, Whole
from stream2gym.units import Duration, Size


class SparkSettings(Model):
    """A PySpark program. ``cluster`` starts a master and workers on the host of the program, as published."""

    # ``local[2]``, or the name of an engine of type spark-master.
    master: str | None = None
    memory: Size | None = None
    cores: Whole | None = Field(default=None, ge=1)
    packages: Texts = Field(default_factory=list)
    python: str | None = None
    mode: Literal["micro-batch", "real-time"] = "micro-batch"
    # In the work folder of the run, or in the memory of the host.
    checkpoints: Literal["disk", "memory"] = "disk"
    # What the load waits for: a running query, the first batch of every query (warm-up messages are sent until then),
    # the end of the program, or its start.
    ready: Literal["query", "batch", "exit", "start"] = "query"
    # The topics that the program reads. Real-time mode needs a task slot for each of their partitions.
    reads: Texts = Field(default_factory=list)
    ready_timeout: Duration = Duration(240.0)
    cluster: bool = False
    workers: Whole | None = Field(default=None, ge=1)
    worker_cores: Whole | None = Field(default=None, ge=1)
    worker_memory: Size | None = None


class SparkMasterSettings(Model):
    """The master of a Spark cluster."""

    port: Whole = Field(default=7077, ge=1, le=65535)


class SparkWorkerSettings(Model):
    """A worker of a Spark cluster. ``master`` is the name of an engine of type spark-master."""

    master: str
    cores: Whole = Field(default=1, ge=1)
    memory: Size = Size(1024**3)


class FlinkSettings(Model):
    """A Flink job in a mini-cluster on one host: a file of SQL statements, a Java file, a jar, a PyFlink program."""

    # How many tasks run side by side; the mini-cluster has as many slots.
    parallelism: Whole = Field(default=1, ge=1)
    memory: Size = Size(512 * 1024**2)
    # The class of a jar or of a Java file that has the main method.
    main: str | None = None
    packages: Texts = Field(default_factory=list)
    # The interpreter of a PyFlink program, if it is not the one that ``setup --flink-python`` made.
    python: str | None = None
    # The time between two checkpoints; 0 s makes none.
    checkpoint_every: Duration = Duration(1.0)
    # A checkpoint or savepoint that it begins from while it has none of its own.
    restore: str | None = None
    # What the load waits for: a running job whose sources have their partitions, the end of the program, its start.
    ready: Literal["job", "exit", "start"] = "job"
    ready_timeout: Duration = Duration(240.0)


class FlinkJobManagerSettings(Model):
    """The job manager of a Flink cluster, in application mode: it runs one program, on the slots of task managers."""

    parallelism: Whole = Field(default=1, ge=1)
    memory: Size = Size(384 * 1024**2)
    main: str | None = None
    packages: Texts = Field(default_factory=list)
    python: str | None = None
    checkpoint_every: Duration = Duration(1.0)
    restore: str | None = None
    ready: Literal["job", "exit", "start"] = "job"
    ready_timeout: Duration = Duration(240.0)


class FlinkTaskManagerSettings(Model):
    """A task manager of a Flink cluster. ``jobmanager`` is the name of an engine of type flink-jobmanager."""

    jobmanager: str
    slots: Whole = Field(default=1, ge=1)
    memory: Size = Size(384 * 1024**2)


class KafkaStreamsSettings(Model):
    """A Kafka Streams program: a Java file or a jar. ``main`` is its main class."""

    main: str | None = None
    memory: Size | None = None
    # Instances of one application share its work; each is an engine of its own with the same application.
    application: Name | None = None
    # Where the program keeps the state of its tasks.
    store: Literal["memory", "rocksdb"] = "memory"
    guarantee: Literal["at-least-once", "exactly-once"] = "at-least-once"
    threads: Whole = Field(default=1, ge=1, le=64)
    packages: Texts = Field(default_factory=list)
    # What the load waits for: that its streams run, the end of the program, or its start.
    ready: Literal["running", "exit", "start"] = "running"
    ready_timeout: Duration = Duration(120.0)


KAFKA_STREAMS = Kind(
    "engine", "kafka-streams", "a Kafka Streams program", KafkaStreamsSettings, also=("kstream", "kstreams"),
    capabilities=WITH_DATA, app=True, runnable=True,
)  # fmt: skip
KINDS = (
    Kind("engine", "spark", "a PySpark program", SparkSettings, capabilities=WITH_DATA, app=True,
         runnable=True),
    Kind("engine", "spark-master", "the master of a Spark cluster", SparkMasterSettings, capabilities=PROCESS,
         port=7077, runnable=True),
    Kind("engine", "spark-worker", "a worker of a Spark cluster", SparkWorkerSettings, capabilities=PROCESS,
         runnable=True),
    Kind("engine", "flink", "a Flink job on one host: SQL, Java or PyFlink", FlinkSettings, capabilities=WITH_DATA,
         app=True, runnable=True),
    Kind("engine", "flink-jobmanager", "the job manager of a Flink cluster, with its program",
         FlinkJobManagerSettings, capabilities=WITH_DATA, app=True, runnable=True),
    Kind("engine", "flink-taskmanager", "a task manager of a Flink cluster", FlinkTaskManagerSettings,
         capabilities=WITH_DATA, runnable=True),
    KAFKA_STREAMS,
)  # fmt: skip
