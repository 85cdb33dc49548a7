"""The types of stream processing engine and the settings of each."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stream2gym.kinds.base import Model, Texts, Whole
from stream2gym.kinds.capabilities import PROCESS, WITH_DATA
from stream2gym.kinds.registry import Kind
from stream2gym.units import Duration, Size


class Spark(Model):
    """A PySpark program. ``cluster`` is the published way: a master and workers on the program's own host."""

    master: str | None = None  # local[2], or the name of a spark-master engine
    memory: Size | None = None
    cores: Whole | None = Field(default=None, ge=1)
    packages: Texts = Field(default_factory=list)
    python: str | None = None
    mode: Literal["micro-batch", "real-time"] = "micro-batch"
    checkpoints: Literal["disk", "memory"] = "disk"  # the run's work folder, or the host's memory
    ready: Literal["query", "exit", "start"] = "query"  # what the load waits for
    reads: Texts = Field(default_factory=list)  # topics; real-time mode needs a slot for each partition
    ready_timeout: Duration = Duration(240.0)
    cluster: bool = False
    workers: Whole | None = Field(default=None, ge=1)
    worker_cores: Whole | None = Field(default=None, ge=1)
    worker_memory: Size | None = None


class SparkMaster(Model):
    port: Whole = Field(default=7077, ge=1, le=65535)


class SparkWorker(Model):
    master: str
    cores: Whole = Field(default=1, ge=1)
    memory: Size = Size(1024**3)


class Flink(Model):
    parallelism: Whole | None = Field(default=None, ge=1)
    memory: Size | None = None
    python: str | None = None


class KafkaStreams(Model):
    main: str | None = None
    memory: Size | None = None


KINDS = (
    Kind("engine", "spark", "a PySpark program", Spark, capabilities=WITH_DATA, app=True,
         runnable=True),
    Kind("engine", "spark-master", "the master of a Spark cluster", SparkMaster, capabilities=PROCESS, port=7077,
         runnable=True),
    Kind("engine", "spark-worker", "a worker of a Spark cluster", SparkWorker, capabilities=PROCESS,
         runnable=True),
    Kind("engine", "flink", "a PyFlink program", Flink, capabilities=WITH_DATA, app=True),
    Kind("engine", "kafka-streams", "a Kafka Streams program", KafkaStreams, also=("kstream", "kstreams"),
         capabilities=WITH_DATA, app=True),
)  # fmt: skip
