"""A JVM that the analyses of several commands share: ``python -m stream2gym.analysis.shared_jvm FILE``.

It opens a Spark session, writes to FILE where its JVM listens, and keeps the session until its standard input ends.
A command whose environment names FILE (``VARIABLE``) opens a session of its own inside that JVM and need not start
one. Sessions have their own settings and views. FILE holds a secret: only its owner may read it, and whoever may not
starts a JVM.

The tests are what uses it. Starting a JVM takes most of the time of a small analysis.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VARIABLE = "S2G_ANALYSIS_JVM"


@dataclass(frozen=True)
class JvmAddress:
    """Where a JVM listens for PySpark, and the secret that it asks for."""

    port: int
    secret: str


def find_shared_jvm() -> JvmAddress | None:
    """The JVM that the environment names, or None where it names none or a file that this user cannot read."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    try:
        return JvmAddress(**json.loads(Path(path).read_text("utf-8")))
    except OSError:
        return None


def join_spark(gateway: Any) -> SparkSession:
    """Open a session of its own in the Spark that runs behind ``gateway``."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    jvm = gateway.jvm
    running = jvm.org.apache.spark.SparkContext.getOrCreate()
    java_context = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(running)
    context = SparkContext(gateway=gateway, jsc=java_context, conf=SparkConf(_jconf=java_context.getConf()))
    kind: Any = SparkSession
    opened: SparkSession = kind(context, kind._get_j_spark_session_class(jvm).getDefaultSession().get().newSession())
    return opened


def leave_spark(session: SparkSession) -> None:
    """End what PySpark holds of a session of ``join_spark``. The Spark behind it goes on."""
    context: Any = session.sparkContext
    context._jsc = None  # what ``stop`` would end in the JVM
    context.stop()
    kind: Any = type(session)
    kind._instantiatedSession = kind._activeSession = None


def serve(file: Path) -> None:
    """Open a session, say in ``file`` where, and keep it until the standard input ends."""
    from stream2gym.analysis.session import open_session

    def tell(address: JvmAddress) -> None:
        nobody_else = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(nobody_else, "w", encoding="utf-8") as stream:
            json.dump(vars(address), stream)

    with open_session(listening=tell) as session:
        session.range(1).count()
        sys.stdin.buffer.read()


if __name__ == "__main__":
    os.environ.pop(VARIABLE, None)
    serve(Path(sys.argv[1]))
