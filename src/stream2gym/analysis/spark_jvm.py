"""The JVM of a local analysis: its command line, and where the PySpark wheel keeps its jars."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.software.java import JavaRuntime

HEAP_MB = 1200
MAIN = "org.apache.spark.api.python.PythonGatewayServer"
MANY_ROWS = 5_000_000  # from here on the optimising compiler pays for itself
_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.util.calendar",
)  # fmt: skip


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
