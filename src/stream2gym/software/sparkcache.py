"""The start-up cache of a Spark job's JVM: Java's ahead-of-time cache over a rehearsal, made once by ``setup``.

The rehearsal is a real job between two topics of a real broker on loopback. Its file is named by all that the JVM
compares (Java, class path, flags), so that a change makes a new one. Without it a job only starts slower.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from stream2gym.errors import S2gError, StartFailed
from stream2gym.software.aot import AOT_FROM, make_flags
from stream2gym.software.bare import bare_broker, exercise
from stream2gym.software.cache import Cache, keep_newest
from stream2gym.software.fetch import Progress
from stream2gym.software.kafka import KafkaSoftware
from stream2gym.software.spark import SUBMIT, SparkSoftware

HEAP_MB = 512
REHEARSE_S = 300.0
KEPT = 2
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


def cache_file(software: SparkSoftware, cache: Cache | None = None) -> Path:
    """Where the cache for this Spark is, or would be; further packages come last on the class path and fit."""
    bare = replace(software, packages=(), start_cache=None)
    parts = [software.java.version, _REHEARSAL, *bare.command(SUBMIT, heap_mb=HEAP_MB)]
    for jar in software.jars:
        stat = jar.stat()
        parts += [str(stat.st_size), str(stat.st_mtime_ns)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return (cache or Cache.here()).path("spark", f"job-{key}.aot")


def with_start_cache(software: SparkSoftware, cache: Cache | None = None) -> SparkSoftware:
    """The software with its cache, where there is one."""
    file = cache_file(software, cache)
    return replace(software, start_cache=file) if file.is_file() else software


def make_start_cache(progress: Progress | None = None, cache: Cache | None = None) -> Path | None:
    """Rehearse a job and keep what Java learned; None where this Java has no such cache, or the rehearsal failed."""
    say = progress or (lambda _what, _done, _total: None)
    cache = cache or Cache.here()
    software = SparkSoftware.ensure(progress=progress, cache=cache)
    file = cache_file(software, cache)
    if software.java.major < AOT_FROM or file.is_file():
        return file if file.is_file() else None
    try:
        with cache.lock(on_wait=lambda words: say(words, 0, 0)), cache.disk(), cache.scratch() as scratch:
            if not file.is_file():
                say("making the start-up cache of Spark jobs (once)", 0, 0)
                _rehearse(software, scratch).replace(_room_for(file))
    except (S2gError, OSError, subprocess.TimeoutExpired) as error:
        say(f"no start-up cache, Spark jobs start slower: {error}", 0, 0)
        return None
    return file


def _rehearse(software: SparkSoftware, scratch: Path) -> Path:
    made, program = scratch / "job.aot", scratch / "rehearsal.py"
    program.write_text(_REHEARSAL)
    for name in ("broker", "checkpoints"):
        (scratch / name).mkdir()
    properties = {"spark.master": "local[1]", "spark.ui.enabled": "false", "spark.log.level": "ERROR",
                  "spark.sql.shuffle.partitions": "1", "spark.eventLog.enabled": "true",
                  "spark.eventLog.dir": scratch.as_uri(), "spark.eventLog.compress": "false",
                  "spark.eventLog.rolling.enabled": "false"}  # fmt: skip
    confs = [word for key, value in properties.items() for word in ("--conf", f"{key}={value}")]
    command = software.command(SUBMIT, heap_mb=HEAP_MB, flags=make_flags(software.java, made))
    environment = os.environ | software.environment | {
        "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    with bare_broker(KafkaSoftware.ensure(), scratch / "broker") as broker:
        exercise(broker)
        arguments = [f"127.0.0.1:{broker.port}", str(scratch / "checkpoints")]
        done = subprocess.run(
            [*command, *confs, str(program), *arguments], env=environment, cwd=scratch, capture_output=True,
            timeout=REHEARSE_S, check=False,
        )  # fmt: skip
    if not made.is_file() or made.stat().st_size == 0:
        raise StartFailed(f"the rehearsal left nothing:\n{done.stderr.decode(errors='replace')[-1000:]}")
    return made


def _room_for(file: Path) -> Path:
    """Older caches beyond a few go."""
    file.parent.mkdir(parents=True, exist_ok=True)
    keep_newest(file.parent, "job-*.aot", KEPT - 1)
    return file
