"""The Spark session of an analysis: small, local, quiet, quick to start; or any cluster that is named.

For a local session the JVM is started here and not through Spark's launcher scripts: that saves a JVM, lets
the wheel's Java work as it is, and lets a start-up cache (see ``startcache``) halve the time to the first
answer. The JVM ends when its standard input does, so it never outlives us. ``open_session`` gives a handle;
one session analyses many runs.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream2gym.errors import BadInput, CannotHere, Mistake, StartFailed
from stream2gym.software.java import JavaRuntime, find_java, spark_home
from stream2gym.wait import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAP_MB = 1200
MAIN = "org.apache.spark.api.python.PythonGatewayServer"
MANY_ROWS = 5_000_000  # from here on the optimising compiler pays for itself
ANSWER_S = 10.0
START_TIMEOUT_S = 90.0
END_TIMEOUT_S = 300.0  # a rehearsal writes its start-up cache when the JVM ends
_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.util.calendar",
)  # fmt: skip
_QUESTIONS = {  # what answers depend on, wherever they are found
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",  # a joined partition is held in memory
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.ansi.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}
_HERE = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.statistics.fallBackToHdfs": "false",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.catalogImplementation": "in-memory",
}


def java_command(java: JavaRuntime, *more: str, rows: int = 0) -> list[str]:
    """The JVM of a local session, but for the class path and the main class."""
    compiler = [] if rows >= MANY_ROWS else ["-XX:TieredStopAtLevel=1"]
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    return [
        java.java, f"-Xmx{HEAP_MB}m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xlog:disable",
        *compiler, *opened, "-Dio.netty.tryReflectionSetAccessible=true",
        "-Djdk.reflect.useDirectMethodHandle=false", *more,
    ]  # fmt: skip


def spark_folder() -> Path:
    """Where the PySpark wheel keeps its jars."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise CannotHere("PySpark is not installed", "pip install pyspark==4.2.0")
    return Path(spec.origin).parent


def class_path() -> str:
    return os.pathsep.join(str(jar) for jar in sorted((spark_folder() / "jars").glob("*.jar")))


def check_master(master: str | None) -> None:
    """BadInput when nobody answers at the address of a standalone cluster: Spark itself would try for minutes."""
    if master is None or not master.startswith("spark://"):
        return
    places = master.removeprefix("spark://").split(",")
    for place in places:
        host, _, port = place.rpartition(":")
        with suppress(OSError, ValueError), socket.create_connection((host, int(port)), ANSWER_S):
            return
    hint = "start the cluster first, or leave --master out to analyse here"
    raise BadInput(Mistake("--master", f"no Spark master answers at {' or '.join(places)}", hint))


@contextmanager
def open_session(
    master: str | None = None, *, rows: int = 0, options: tuple[str, ...] | None = None
) -> Iterator[SparkSession]:
    """A Spark session for analyses of about ``rows`` rows; it ends with the block."""
    if master is not None and not master.startswith("local"):
        with _cluster_session(master) as session:
            yield session
        return
    from stream2gym.analysis.startcache import start_options

    java = find_java()
    with (
        tempfile.TemporaryDirectory(prefix="s2g-spark-") as scratch,
        _gateway(
            java_command(java, *(start_options(java) if options is None else options), rows=rows),
            Path(scratch),
        ),
    ):
        from pyspark.sql import SparkSession

        own = {"spark.local.dir": scratch, "spark.sql.warehouse.dir": f"{scratch}/warehouse"}
        builder: Any = SparkSession.builder
        builder = builder.appName("stream2gym").master(master or "local[2]")
        session = builder.config(map=_QUESTIONS | _HERE | own).getOrCreate()
        try:
            yield session
        finally:
            with suppress(Exception):  # a JVM that is gone already has nothing to stop
                session.stop()
            _forget_gateway()


@contextmanager
def _gateway(command: list[str], scratch: Path) -> Iterator[None]:
    """Start the JVM and tell PySpark where it listens."""
    address = scratch / "gateway"
    env = {**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address), "SPARK_HOME": str(spark_folder())}
    env |= {"SPARK_LOCAL_IP": "127.0.0.1"}
    log = scratch / "jvm.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, f"-Djava.io.tmpdir={scratch}", "-cp", class_path(), MAIN],
            stdin=subprocess.PIPE, stdout=out, stderr=out, env=env, start_new_session=True,
        )  # fmt: skip
    try:
        import pyspark  # noqa: F401  (while the JVM starts)

        def there() -> bool:
            if process.poll() is not None:
                raise StartFailed(f"Spark's JVM ended at once:\n{log.read_text('utf-8', 'replace')[-2000:]}")
            return address.is_file() and address.stat().st_size > 0

        wait_until(there, timeout_s=START_TIMEOUT_S, reason="Spark's JVM to listen", every_s=0.01)
        port, length = struct.unpack(">ii", address.read_bytes()[:8])
        secret = address.read_bytes()[8 : 8 + length].decode()
        os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret
        yield
    except BaseException:
        process.kill()  # nobody waits for what it would do at its end
        raise
    finally:
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            os.environ.pop(name, None)
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _forget_gateway() -> None:
    """Let the next session of this process find its own JVM: PySpark keeps the last one for ever."""
    from pyspark import SparkContext

    context: Any = SparkContext
    gateway = context._gateway
    if gateway is not None:
        gateway.shutdown()
        launched = getattr(
            gateway, "proc", None
        )  # a JVM that PySpark started itself, through Spark's launcher
        if launched is not None:
            launched.stdin.close()
            launched.wait(END_TIMEOUT_S)
    context._gateway = context._jvm = None


@contextmanager
def _cluster_session(master: str) -> Iterator[SparkSession]:
    """The driver is started by Spark's own launcher, which knows what each kind of cluster needs."""
    from pyspark.sql import SparkSession

    if "JAVA_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(spark_home(find_java()))
    builder: Any = SparkSession.builder
    session = builder.appName("stream2gym").master(master).config(map=_QUESTIONS).getOrCreate()
    try:
        yield session
    finally:
        with suppress(Exception):
            session.stop()
        _forget_gateway()
