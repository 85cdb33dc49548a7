"""The start-up cache of a Spark job's JVM, which ``setup`` makes.

The rehearsal is a real job between two topics of a real broker on loopback.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from stream2gym.software.cache import Cache
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.loopback_broker import exercise, loopback_broker
from stream2gym.software.spark_software import SUBMIT, SparkSoftware
from stream2gym.software.start_cache import StartCache

HEAP_MB = 512
REHEARSE_S = 300.0
_REHEARSAL = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
address, folder = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
kafka = {"kafka.bootstrap.servers": address}
rows = spark.readStream.format("kafka").options(subscribe="warm", startingOffsets="earliest", **kafka).load()
words = rows.selectExpr("cast(value as string) as value", "timestamp")
upper = udf(lambda word: word.upper())
counts = words.select(upper("value").alias("value")).groupBy("value").count()
copies = words.selectExpr("upper(value) as value").writeStream.format("kafka").options(topic="warm", **kafka)
for number, (query, mode) in enumerate(((copies, "append"), (counts.writeStream.format("console"), "complete"))):
    query = query.option("checkpointLocation", f"{folder}/{number}").outputMode(mode)
    query.trigger(availableNow=True).start().awaitTermination()
spark.stop()
"""


def job_start_cache(software: SparkSoftware, cache: Cache | None = None) -> StartCache:
    """The start-up cache of this Spark's jobs. It fits jobs with packages, too: they come last on the class path."""
    without = replace(software, packages=(), start_cache=None)
    folder = (cache or Cache.here()).path("spark")
    depends_on = [_REHEARSAL, *without.command(SUBMIT, heap_mb=HEAP_MB)]
    return StartCache.of("Spark jobs", software.java, folder, "job", depends_on=depends_on, files=software.jars)


def with_start_cache(software: SparkSoftware, cache: Cache | None = None) -> SparkSoftware:
    """The software with its start-up cache, where there is one."""
    return replace(software, start_cache=job_start_cache(software, cache).find())


def make_start_cache(progress: Progress = silent, cache: Cache | None = None) -> Path | None:
    """Make the start-up cache of Spark jobs; None where this Java has none, or the rehearsal failed."""
    software = SparkSoftware.ensure(progress=progress, cache=cache)
    found = job_start_cache(software, cache)
    found.forget_failure()
    return found.ensure(lambda folder, flags: _rehearse(software, folder, flags), progress)


def _rehearse(software: SparkSoftware, scratch: Path, flags: list[str]) -> str:
    program = scratch / "rehearsal.py"
    program.write_text(_REHEARSAL)
    for name in ("broker", "checkpoints"):
        (scratch / name).mkdir()
    properties = {"spark.master": "local[1]", "spark.ui.enabled": "false", "spark.log.level": "ERROR",
                  "spark.sql.shuffle.partitions": "1", "spark.eventLog.enabled": "true",
                  "spark.eventLog.dir": scratch.as_uri(), "spark.eventLog.compress": "false",
                  "spark.eventLog.rolling.enabled": "false"}  # fmt: skip
    confs = [word for key, value in properties.items() for word in ("--conf", f"{key}={value}")]
    command = software.command(SUBMIT, heap_mb=HEAP_MB, flags=flags)
    environment = os.environ | software.environment | {
        "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    with loopback_broker(ensure_kafka(), scratch / "broker") as broker:
        exercise(broker)
        arguments = [f"127.0.0.1:{broker.port}", str(scratch / "checkpoints")]
        done = subprocess.run(
            [*command, *confs, str(program), *arguments], env=environment, cwd=scratch, capture_output=True,
            timeout=REHEARSE_S, check=False,
        )  # fmt: skip
    return done.stderr.decode(errors="replace")
