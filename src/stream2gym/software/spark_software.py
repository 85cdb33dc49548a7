"""Spark as software on disk: PySpark's wheel, a Java that runs it, and the jars that jobs need on their class path.

The program ``spark-submit`` starts a JVM only to find out how to start the next one. The answer depends only on Spark
and Java, so it is asked for once and kept; every job then starts with one JVM less.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import CannotHere
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, ensure_jars, silent
from stream2gym.software.java import JavaRuntime, find_java, spark_home
from stream2gym.software.software_lists import JDBC, SPARK_KAFKA
from stream2gym.software.start_cache import use_flags

SUBMIT = "org.apache.spark.deploy.SparkSubmit"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
SCALA = "2.13"
# A quick start counts more here than the last third of speed: one compiler, one collector, no threads of either.
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xss4m")
_MISSING_MODULE = "--add-modules=jdk.incubator.vector"
ASK_S = 60.0


@dataclass(frozen=True)
class SparkSoftware:
    """A Spark that can be started."""

    home: Path  # SPARK_HOME: the package's folder
    java: JavaRuntime
    java_home: Path
    options: tuple[str, ...]  # what Spark's launcher tells a JVM
    jars: tuple[Path, ...]  # beyond Spark's own
    packages: tuple[Path, ...] = ()  # that jobs asked for
    start_cache: Path | None = None

    @classmethod
    def ensure(
        cls,
        java: str | None = None,
        progress: Progress = silent,
        *,
        jars: Sequence[Path] = (),
        cache: Cache | None = None,
    ) -> SparkSoftware:
        """Find Spark and fetch what is missing of its connectors; ``jars`` come before them."""
        cache = cache or Cache.here()
        spec = importlib.util.find_spec("pyspark")
        if spec is None or spec.origin is None:
            raise CannotHere("PySpark is missing", "pip install pyspark")
        home = Path(spec.origin).parent
        runtime = find_java(java, cache)
        java_home = spark_home(runtime, cache)
        connectors = [jar for name in (SPARK_KAFKA, JDBC) for jar in ensure_jars(name, progress, cache=cache)]
        options = _launcher_options(home, runtime, java_home, cache)
        return cls(home, runtime, java_home, options, (*jars, *connectors))

    @property
    def class_path(self) -> str:
        """All jars, always in the same order, as a start-up cache demands; packages come last, which it allows."""
        conf = [self.home / "conf"] if (self.home / "conf").is_dir() else []
        own = sorted((self.home / "jars").glob("*.jar"))
        return os.pathsep.join(map(str, [*conf, *self.jars, *own, *self.packages]))

    def command(self, main: str, *, heap_mb: int, flags: Sequence[str] = ()) -> list[str]:
        """The command of a JVM for one of the programs of Spark, as its launcher would start it."""
        cached = use_flags(self.java, self.start_cache) if main == SUBMIT else []
        return [
            self.java.java, "-cp", self.class_path, f"-Xmx{heap_mb}m", *self.options, *JVM_FLAGS, *cached, *flags,
            main,
        ]  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        return {
            "SPARK_HOME": str(self.home),
            "JAVA_HOME": str(self.java_home),
            "SPARK_SCALA_VERSION": SCALA,
            "SPARK_NO_DAEMONIZE": "1",
        }


def _launcher_options(home: Path, java: JavaRuntime, java_home: Path, cache: Cache) -> tuple[str, ...]:
    version = hashlib.sha256(f"{home} {os.stat(home).st_mtime_ns} {java.java} {java.version}".encode())
    record = cache.path("java", f"spark-options-{version.hexdigest()[:16]}.json")
    if record.is_file():
        return tuple(json.loads(record.read_text("utf-8")))
    options = _ask_launcher(home, java, java_home)
    cache.write(record, json.dumps(options).encode())
    return options


def _ask_launcher(home: Path, java: JavaRuntime, java_home: Path) -> tuple[str, ...]:
    """The options in the command that Spark's launcher would run; without the module that the Java lacks."""
    argv = [
        str(java_home / "bin" / "java"),
        "-cp",
        f"{home / 'jars' / '*'}",
        "org.apache.spark.launcher.Main",
    ]
    environment = {"SPARK_HOME": str(home), "JAVA_HOME": str(java_home), "SPARK_SCALA_VERSION": SCALA}
    try:
        done = subprocess.run(
            [*argv, SUBMIT, "--class", "none", "none"],
            env=environment,
            capture_output=True,
            timeout=ASK_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        raise CannotHere(
            f"Spark's launcher does not run: {error} {said.decode(errors='replace')[-500:]}",
            "s2g setup --verify, or name another Java",
        ) from error
    words = [word.strip() for word in done.stdout.decode().split("\0")]
    options = words[words.index("-cp") + 2 : words.index(SUBMIT)]
    return tuple(
        word for word in options if not word.startswith("-Xmx") and not (java.bundled and word == _MISSING_MODULE)
    )
