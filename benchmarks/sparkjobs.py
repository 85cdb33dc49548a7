"""Spark and MariaDB without us, on loopback: what the benchmark of Spark stands beside.

``first_result`` starts a broker, makes topics, submits a job as anybody would and sends it messages until one comes
back. ``copy_all`` measures the same job over a full topic. ``insert_all`` fills a table in a plain loop. The programs
of the jobs are here as well: they run unchanged in a gym.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import bare
from stream2gym.components.mariadb import DEFAULTS
from stream2gym.software import child_process
from stream2gym.software.loopback_broker import free_ports
from stream2gym.software.mariadb_software import MariaDbSoftware
from stream2gym.software.spark_software import SparkSoftware
from stream2gym.wait import wait_until

TIMEOUT_S = 180.0
MEMORY_MB = 512
UPPER = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
brokers = os.environ["S2G_BOOTSTRAP"]
lines = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
         .option("subscribe", "in").option("startingOffsets", "earliest").load())
(lines.selectExpr("upper(cast(value as string)) as value").writeStream.format("kafka")
 .option("kafka.bootstrap.servers", brokers).option("topic", "out")
 .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/upper").start().awaitTermination())
"""
# Waits until the topic is full, so that nothing but the job is measured, and says how long it took.
COPY = """
import json, os, sys, time
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession
rows, brokers = int(sys.argv[1]), os.environ["S2G_BOOTSTRAP"]
spark = SparkSession.builder.getOrCreate()
spark.range(10).count()
look = Consumer({"bootstrap.servers": brokers, "group.id": "look"})
while look.get_watermark_offsets(TopicPartition("in", 0), timeout=30)[1] < rows:
    time.sleep(0.1)
began = time.monotonic()
lines = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
         .option("subscribe", "in").option("startingOffsets", "earliest").load())
(lines.selectExpr("upper(cast(value as string)) as value").writeStream.format("kafka")
 .option("kafka.bootstrap.servers", brokers).option("topic", "out").trigger(availableNow=True)
 .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy").start().awaitTermination())
print("S2G " + json.dumps({"event": "took", "seconds": time.monotonic() - began}), flush=True)
"""


@contextlib.contextmanager
def broker() -> Iterator[tuple[str, Any]]:
    """One bare broker with the topics ``in`` and ``out``: its address, and a client of Kafka's."""
    import confluent_kafka
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    with contextlib.ExitStack() as undo:
        place = undo.enter_context(tempfile.TemporaryDirectory(dir=bare.MEMORY if bare.MEMORY.is_dir() else None))
        bare.start(undo, Path(place), 1)
        address = f"{bare.address(1)}:{bare.PORT}"
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0, "reconnect.backoff.max.ms": 250})

        def there() -> bool:
            with contextlib.suppress(confluent_kafka.KafkaException):
                return len(admin.list_topics(timeout=5.0).brokers) == 1
            return False

        wait_until(there, timeout_s=TIMEOUT_S, reason="the broker to answer", every_s=0.05)
        for made in admin.create_topics([NewTopic("in", 1, 1), NewTopic("out", 1, 1)]).values():
            made.result(TIMEOUT_S)
        yield address, confluent_kafka


@contextlib.contextmanager
def submitted(program: str, address: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A job under Spark's own ``spark-submit``."""
    software = SparkSoftware.ensure()
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "job.py").write_text(program)
        environment = os.environ | software.environment | {
            "S2G_BOOTSTRAP": address, "S2G_CHECKPOINT": place, "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
        }  # fmt: skip
        argv = [
            str(software.home / "bin" / "spark-submit"), "--master", "local[1]", "--driver-memory", f"{MEMORY_MB}m",
            "--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=ERROR",
            "--jars", ",".join(map(str, software.jars)), f"{place}/job.py", *arguments,
        ]  # fmt: skip
        process = subprocess.Popen(
            argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def first_result() -> dict[str, float]:
    """Seconds of each step until a message has come through the job."""
    began = time.monotonic()
    with broker() as (address, kafka):
        ready = time.monotonic()
        with submitted(UPPER, address):
            producer = kafka.Producer({"bootstrap.servers": address, "log_level": 0})
            consumer = kafka.Consumer(
                {
                    "bootstrap.servers": address,
                    "group.id": "see",
                    "auto.offset.reset": "earliest",
                    "log_level": 0,
                }
            )
            consumer.subscribe(["out"])
            producer.produce("in", b"message")
            producer.flush(TIMEOUT_S)
            message = consumer.poll(TIMEOUT_S)
            if message is None or message.error():
                sys.exit("nothing came through the bare job")
            took = {
                "broker and topics": ready - began,
                "spark-submit to first result": time.monotonic() - ready,
            }
            consumer.close()
    return took


def copy_all(rows: int, size: int) -> float:
    """Rows a second of the job over a topic that is full."""
    with broker() as (address, kafka), submitted(COPY, address, str(rows)) as process:
        producer = kafka.Producer(
            {"bootstrap.servers": address, "queue.buffering.max.messages": 1_000_000, "log_level": 0}
        )
        for _ in range(rows):
            producer.produce("in", b"x" * size)
        producer.flush(TIMEOUT_S)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("S2G "):
                return rows / float(json.loads(line[4:])["seconds"])
    sys.exit("the bare job ended without a word")


def insert_all(rows: int, batch: int, value: str) -> float:
    """Rows a second of a loop of ``executemany``, a transaction a batch."""
    import pymysql

    software = MariaDbSoftware.ensure()
    who = f"--user={pwd.getpwuid(os.geteuid()).pw_name}"
    with tempfile.TemporaryDirectory(dir=bare.MEMORY if bare.MEMORY.is_dir() else None) as place:
        common = ["--no-defaults", f"--basedir={software.folder}", f"--datadir={place}/data", who]
        environment = os.environ | software.environment
        install = [software.installer, *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(install, env=environment, capture_output=True, check=True, timeout=TIMEOUT_S)
        (port,) = free_ports(1)
        options = [f"--{key.replace('_', '-')}={value}" for key, value in DEFAULTS.items()]
        where = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={place}/s", f"--pid-file={place}/p"]
        with open(f"{place}/log", "wb") as log:
            server = subprocess.Popen(
                [software.server, *common, *where, *options], env=environment, stdout=log, stderr=log
            )
        try:

            def connected() -> Any:
                with contextlib.suppress(pymysql.err.OperationalError):
                    return pymysql.connect(unix_socket=f"{place}/s", user="root")
                return None

            wait_until(connected, timeout_s=TIMEOUT_S, reason="MariaDB to answer").close()
            setup = connected()
            with setup.cursor() as cursor:
                cursor.execute("CREATE DATABASE b")
                cursor.execute("CREATE TABLE b.t (k TEXT, v TEXT)")
                cursor.execute("CREATE USER s2g@'127.0.0.1' IDENTIFIED BY 's2g'")
                cursor.execute("GRANT ALL ON *.* TO s2g@'127.0.0.1'")
            db = pymysql.connect(host="127.0.0.1", port=port, user="s2g", password="s2g", database="b")
            began = time.monotonic()
            for first in range(0, rows, batch):
                with db.cursor() as cursor:
                    block = [(None, value)] * min(batch, rows - first)
                    cursor.executemany("INSERT INTO t (k, v) VALUES (%s, %s)", block)
                db.commit()
            return rows / (time.monotonic() - began)
        finally:
            child_process.end(server)
