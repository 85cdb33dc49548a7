"""A JVM that the analyses of several commands share, seen from such a command.

``serve_shared_jvm`` starts it and writes to a file where it listens. A command whose environment names that file
(``VARIABLE``) opens a session of its own inside that JVM and need not start one. Sessions have their own settings and
views. The file holds a secret: only its owner may read it, and whoever may not starts a JVM.
"""

from __future__ import annotations

import json
import os
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
