"""The Spark application of a sweep: opened on a master, asked for its task slots, closed when its tasks have ended.

What ``spark-defaults.conf`` and PYSPARK_SUBMIT_ARGS say counts, but for the settings that a sweep depends on.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from stream2gym.analysis.session import close_gateway, keep_spark_environment
from stream2gym.errors import CannotHere, StartFailed
from stream2gym.software.java import find_java, spark_home
from stream2gym.sweeps.job_limits import CORES_OF_RUN
from stream2gym.wait import wait_until

# What executors may take to register. Workers that come later are used, too.
REGISTER_S = 90.0
# The number of slots is taken for complete if it has not changed for this long.
SETTLED_S = 3.0
# What tasks may take to end after they were cancelled. Spark gives a Python process 2 s before it kills it.
CANCEL_S = 20.0
# A point never runs twice without being asked for, and its task has a Python process of its own.
FORCED = {
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
    "spark.python.worker.reuse": "false",
    # Modules of the folder in which a worker runs are never imported.
    "spark.executorEnv.PYTHONSAFEPATH": "1",
    # The check of the workers asks for all slots at once; if some are gone, that is told soon.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "5s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "3",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
# A run lives in processes beside the executor, which itself needs little.
DEFAULTS = {"spark.task.cpus": str(CORES_OF_RUN), "spark.executor.memory": "512m"}

# pyspark.SparkContext; PySpark is imported late, and its types leave much open.
Context = Any


@contextmanager
def open_context(master: str, name: str) -> Iterator[Context]:
    """The Spark application of a sweep; it ends with the block.

    Must be called outside the main thread, because PySpark would handle Ctrl-C itself there.
    """
    with keep_spark_environment(without_spark=False):
        os.environ.setdefault("JAVA_HOME", str(spark_home(find_java())))
        # Spark starts it on the workers.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        context = _make_context(master, name)
    try:
        yield context
    finally:
        with suppress(Exception):
            context.cancelAllJobs()
            _wait_for_tasks(context)
        with suppress(Exception):
            context.stop()
        close_gateway()


def _make_context(master: str, name: str) -> Context:
    from pyspark import SparkConf, SparkContext, java_gateway

    forced = {**FORCED, "spark.master": master, "spark.app.name": f"stream2gym sweep {name}"}
    first = SparkConf(loadDefaults=False)
    first.setAll(list(forced.items()))
    # A file without a name: it goes with us.
    log = tempfile.TemporaryFile()  # noqa: SIM115 - the JVM writes to it as long as it lives
    try:
        launch: Any = java_gateway.launch_gateway
        gateway = launch(first, {"stdout": log, "stderr": log, "process_group": 0})
        context_class: Any = SparkContext
        context_class._ensure_initialized(gateway=gateway, conf=first)
        # The JVM knows the defaults of this machine.
        conf = SparkConf()
        conf.setAll(list(forced.items()))
        for key, value in DEFAULTS.items():
            conf.setIfMissing(key, value)
        return SparkContext(conf=conf)
    except Exception as error:
        close_gateway()
        said = os.pread(log.fileno(), 100_000, 0).decode(errors="replace")[-500:].strip()
        what = f"no Spark application could be started on {master}: {describe_error(error)}"
        raise StartFailed(f"{what}\n{said}") from error


def is_going_on(context: Context) -> bool:
    """Whether the application can still run jobs. The cluster may have ended it, or its JVM may be gone."""
    try:
        return not context._jsc.sc().isStopped()
    except Exception:
        return False


def find_slots(context: Context) -> int:
    """How many tasks the executors of now can run at once."""
    scala = context._jsc.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def wait_for_slots(context: Context) -> int:
    """Wait until executors have registered, and until no further ones do."""
    cpus = context.getConf().get("spark.task.cpus")
    memory = context.getConf().get("spark.executor.memory")
    seen = 0
    since = time.monotonic()

    def is_settled() -> bool:
        nonlocal seen, since
        found = find_slots(context)
        if found != seen:
            seen = found
            since = time.monotonic()
        return seen > 0 and time.monotonic() - since >= SETTLED_S

    try:
        wait_until(is_settled, timeout_s=REGISTER_S, reason="executors of the cluster", every_s=0.2)
    except StartFailed:
        what = f"no worker of {context.master} has offered {cpus} cores and {memory} of memory in {REGISTER_S:g} s"
        remedy = (
            "look at the page of the Spark master; free workers of other applications, or ask for less with "
            "spark.task.cpus and spark.executor.memory in spark-defaults.conf"
        )
        raise CannotHere(what, remedy) from None
    return seen


def _wait_for_tasks(context: Context) -> None:
    """Wait until no executor runs a task, so that Python processes have been killed when the application ends."""
    tracker = context._jsc.sc().statusTracker()

    def is_idle() -> bool:
        return all(info.numRunningTasks() == 0 for info in tracker.getExecutorInfos())

    wait_until(is_idle, timeout_s=CANCEL_S, reason="the tasks that were cancelled", every_s=0.1)


def describe_error(error: BaseException) -> str:
    """Spark's error in a line or two: the message of its cause, without stack traces."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error) or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    kept = [line for line in lines if not line.startswith("Driver stacktrace")]
    return " ".join(kept[:3])[:600]
