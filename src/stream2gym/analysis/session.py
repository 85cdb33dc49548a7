"""The Spark session of an analysis: a small local one that starts fast, or one on a cluster that is named.

``open_session`` opens it. One session can analyse many runs.

The JVM of a local session is started here and not by Spark's launcher scripts. That saves a second JVM, works with
the Java of the wheel, and allows a start-up cache (``start_cache``), which halves the time to the first result. The
JVM runs under a guard (``software/process_guard``), so that neither it nor its folder outlives this process.

PySpark keeps the address of the JVM in the environment. It is removed again, because a program that is started from
here would otherwise use this JVM for its own session.

Where the environment names a JVM that several commands share (``shared_jvm``), a local session of few rows is opened
in that one.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.analysis_start_cache import start_options
from stream2gym.analysis.shared_jvm import JvmAddress, find_shared_jvm, join_spark, leave_spark
from stream2gym.analysis.spark_jvm import MAIN, MANY_ROWS, class_path, java_command, spark_folder
from stream2gym.errors import BadInput, Mistake, StartFailed
from stream2gym.software.child_process import Guarded, new_folder_name
from stream2gym.software.java import find_java, spark_home
from stream2gym.wait import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_S = 10.0
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 10.0  # what Spark may take to stop before its JVM is killed
END_TIMEOUT_S = 300.0  # a rehearsal writes its start-up cache when the JVM ends
# The variables that PySpark reads and writes. Those that the caller has set are meant for another Spark.
_VARIABLES = ("SPARK_", "PYSPARK_", "_PYSPARK_", "JAVA_HOME")
_MASTER = re.compile(r"spark://.+|yarn|k8s://.+|local(-cluster)?(\[.+\])?")
# The settings that results depend on. They are the same on this machine and on a cluster.
_RESULT_SETTINGS = {
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


def check_master(master: str | None, otherwise: str = "to analyse here") -> None:
    """BadInput for what is no master, and when nobody answers at the address of a standalone cluster.

    Spark itself would try for minutes. ``otherwise`` ends the hint to leave the option out.
    """
    if master is None:
        return
    if not _MASTER.fullmatch(master):
        hint = "spark://HOST:7077, yarn, k8s://..., local[4]"
        raise BadInput(Mistake("--master", f"{master!r} is no Spark master", hint))
    if not master.startswith("spark://"):
        return
    places = master.removeprefix("spark://").split(",")
    for place in places:
        host, _, port = place.rpartition(":")
        with suppress(OSError, ValueError), socket.create_connection((host, int(port)), ANSWER_S):
            return
    hint = f"start the cluster first, or leave --master out {otherwise}"
    raise BadInput(Mistake("--master", f"no Spark master answers at {' or '.join(places)}", hint))


@contextmanager
def open_session(
    master: str | None = None,
    *,
    rows: int = 0,
    options: tuple[str, ...] | None = None,
    started: Callable[[Guarded], None] = lambda _jvm: None,
    listening: Callable[[JvmAddress], None] = lambda _address: None,
) -> Iterator[SparkSession]:
    """A Spark session for analyses of about ``rows`` rows; it ends with the block.

    ``started`` gets the JVM of a local session as soon as it was started, to kill it from another thread.
    ``listening`` gets the address of that JVM when its session is there.
    """
    if master is not None and not master.startswith("local"):
        with _open_cluster_session(master) as session:
            yield session
        return
    is_ordinary = master is None and options is None and rows < MANY_ROWS
    if is_ordinary and (shared := find_shared_jvm()) is not None:
        with _open_shared_session(shared) as session:
            yield session
        return
    java = find_java()
    folder = new_folder_name("s2g-spark")
    command = java_command(java, *(start_options(java) if options is None else options), rows=rows)
    jvm = _start_jvm(command, folder)
    try:
        started(jvm)
        with keep_spark_environment(without_spark=True):
            address = _wait_for_address(jvm)
            _connect(address)
            from pyspark.sql import SparkSession

            own = {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": f"{folder}/warehouse"}
            builder: Any = SparkSession.builder
            builder = builder.appName("stream2gym").master(master or "local[2]")
            session = builder.config(map=_RESULT_SETTINGS | _HERE | own).getOrCreate()
        listening(address)
        try:
            yield session
        finally:
            with _kill_after(jvm, STOP_TIMEOUT_S):
                with suppress(Exception):  # a JVM that is gone already has nothing to stop
                    session.stop()
                close_gateway()
        if options:
            jvm.end_input()
            jvm.wait(END_TIMEOUT_S)
    finally:
        jvm.kill()


def _start_jvm(command: list[str], folder: Path) -> Guarded:
    kept = {key: value for key, value in os.environ.items() if not key.startswith((*_VARIABLES, "PYTHON"))}
    env = kept | {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / "gateway"),
        "SPARK_HOME": str(spark_folder()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONSAFEPATH": "1",
    }
    return Guarded([*command, f"-Djava.io.tmpdir={folder}", "-cp", class_path(), MAIN], folder, env)


def _wait_for_address(jvm: Guarded) -> JvmAddress:
    """Wait until the JVM listens."""
    import pyspark  # noqa: F401 - imported while the JVM starts

    file = jvm.folder / "gateway"

    def is_listening() -> bool:
        if jvm.poll() is not None:
            raise StartFailed(f"Spark's JVM ended at once:\n{jvm.said()[-2000:]}")
        return file.is_file() and file.stat().st_size > 0

    wait_until(is_listening, timeout_s=START_TIMEOUT_S, reason="Spark's JVM to listen", every_s=0.01)
    written = file.read_bytes()
    port, length = struct.unpack(">ii", written[:8])
    return JvmAddress(port, written[8 : 8 + length].decode())


def _connect(address: JvmAddress) -> Any:
    """Have PySpark use the JVM at this address. Returns its connection."""
    import pyspark
    from pyspark import java_gateway

    os.environ["PYSPARK_GATEWAY_PORT"] = str(address.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = address.secret
    try:
        connect: Any = java_gateway.launch_gateway
        gateway = connect()
    finally:
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            os.environ.pop(name, None)
    context: Any = pyspark.SparkContext
    context._gateway, context._jvm = gateway, gateway.jvm
    return gateway


@contextmanager
def _open_shared_session(address: JvmAddress) -> Iterator[SparkSession]:
    with keep_spark_environment(without_spark=True):
        gateway = _connect(address)
        session = join_spark(gateway)
    try:
        yield session
    finally:
        leave_spark(session)
        with suppress(Exception):  # the JVM may be gone
            gateway.close()
        forget_gateway()


@contextmanager
def keep_spark_environment(*, without_spark: bool) -> Iterator[None]:
    """Undo what the block does to Spark's variables; ``without_spark`` hides those of the caller from it."""
    before = {key: value for key, value in os.environ.items() if key.startswith(_VARIABLES)}
    for key in before if without_spark else ():
        os.environ.pop(key, None)
    try:
        yield
    finally:
        for key in [key for key in os.environ if key.startswith(_VARIABLES)]:
            os.environ.pop(key, None)
        os.environ.update(before)


@contextmanager
def _kill_after(jvm: Guarded, timeout_s: float) -> Iterator[None]:
    """Kill the JVM when the block takes longer: what waits for its answer then gets an error."""
    timer = threading.Timer(timeout_s, jvm.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def close_gateway() -> None:
    """End the JVM of the last session, and forget it."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
        # A JVM that PySpark started itself, through Spark's launcher.
        launched = getattr(gateway, "proc", None)
        if launched is not None:
            launched.stdin.close()
            try:
                launched.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                launched.kill()
    forget_gateway()


def forget_gateway() -> None:
    """Have the next session find its own JVM. PySpark would use the one of the last session for ever."""
    from pyspark import SparkContext

    context: Any = SparkContext
    context._gateway = context._jvm = None


@contextmanager
def _open_cluster_session(master: str) -> Iterator[SparkSession]:
    """The driver is started by Spark's own launcher, which knows what each kind of cluster needs."""
    from pyspark.sql import SparkSession

    with keep_spark_environment(without_spark=False):
        os.environ.setdefault("JAVA_HOME", str(spark_home(find_java())))
        builder: Any = SparkSession.builder
        session = builder.appName("stream2gym").master(master).config(map=_RESULT_SETTINGS).getOrCreate()
    try:
        yield session
    finally:
        with suppress(Exception):
            session.stop()
        close_gateway()
