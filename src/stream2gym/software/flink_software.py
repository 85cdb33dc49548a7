"""Flink as software on disk: its jars, the Java that runs it, and the program that runs SQL files and Java classes.

Flink's own distribution is not on Maven, so that its scripts are not used: the three commands that they would end in
are here. ``programs/FlinkProgram.java`` is compiled against these jars at the first use. The JVM flags live here and
nowhere else, because a start-up cache only serves a JVM with the flags that it was made with.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from stream2gym.software.cache import Cache, keep_newest
from stream2gym.software.fetch import Progress, ensure_jars, silent
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.software.java_compiler import compile_java
from stream2gym.software.software_lists import FLINK_JOBS
from stream2gym.software.start_cache import use_flags

Role = Literal["mini", "jobmanager", "taskmanager"]
PROGRAM = "stream2gym.FlinkProgram"
_MAIN: dict[Role, str] = {
    "mini": PROGRAM,
    "jobmanager": "org.apache.flink.container.entrypoint.StandaloneApplicationClusterEntryPoint",
    "taskmanager": "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
}
SOURCE = Path(__file__).parent / "programs" / "FlinkProgram.java"
KEPT_PROGRAMS = 4
# A quick start counts more here than the last third of speed: one compiler, one collector, no threads of either.
JVM_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    # Flink's own list, without what only its compiler plug-ins need. Its serializers look into classes of Java.
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (
        "java.lang", "java.net", "java.io", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.text", "java.time",
        "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks",
    )),
)  # fmt: skip
_LOG_FLAGS = tuple(
    f"-Dorg.slf4j.simpleLogger.{setting}"
    for setting in (
        "defaultLogLevel=warn",
        "showDateTime=true",
        "dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "levelInBrackets=true",
        # It is told at every start that there is no Hadoop, and no configuration of Kerberos.
        "log.org.apache.flink.runtime.util.HadoopUtils=error",
        "log.org.apache.flink.runtime.security=error",
        # A consumer warns of every property that is Flink's and not Kafka's.
        "log.org.apache.flink.kafka.shaded.org.apache.kafka.clients=error",
        "log.org.apache.flink.configuration.GlobalConfiguration=error",
        # The committer of the sink registers one of its numbers again with every checkpoint.
        "log.org.apache.flink.metrics.MetricGroup=error",
        "log.org.apache.flink.runtime.rest.handler=off",
        "log.org.apache.flink.kafka.shaded.org.apache.kafka.common.utils.AppInfoParser=error",
        # Hosts have no hardware addresses, there are no plug-ins, and names of operators may be long.
        "log.org.apache.flink.shaded.netty4.io.netty.util.internal.MacAddressUtil=error",
        "log.org.apache.flink.core.plugin.PluginConfig=error",
        "log.org.apache.flink.runtime.metrics.util.MetricUtils=error",
        # A process that waits for another one tries to connect several times a second.
        "log.org.apache.pekko.remote=error",
        # There is no log file that the web page could show.
        "log.org.apache.flink.runtime.webmonitor.WebMonitorUtils=error",
    )
)


@dataclass(frozen=True)
class FlinkSoftware:
    """A Flink that can be started."""

    java: JavaRuntime
    # Flink's own jars and the program that runs jobs, always in the same order, as a start-up cache demands.
    jars: tuple[Path, ...]
    # What jobs asked for; it comes last on the class path, which a start-up cache allows.
    packages: tuple[Path, ...] = ()
    start_caches: tuple[tuple[Role, Path], ...] = ()

    @classmethod
    def ensure(
        cls, java: str | None = None, progress: Progress = silent, *, cache: Cache | None = None
    ) -> FlinkSoftware:
        """Find Flink, fetch what is missing of it, and compile the program that runs jobs."""
        cache = cache or Cache.here()
        runtime = find_java(java, cache)
        jars = ensure_jars(FLINK_JOBS, progress, cache=cache, java=runtime)
        return cls(runtime, (*jars, _ensure_program(jars, runtime, progress, cache)))

    def with_packages(self, packages: Sequence[Path]) -> FlinkSoftware:
        """The software with further jars on the class path."""
        return replace(self, packages=tuple(packages))

    def command(self, role: Role, *, heap_mb: int, jars: Sequence[Path] = (), flags: Sequence[str] = ()) -> list[str]:
        """The command of a JVM in one of its roles. ``jars`` hold the program of the user."""
        path = os.pathsep.join(map(str, [*self.jars, *self.packages, *jars]))
        cached = use_flags(self.java, dict(self.start_caches).get(role))
        return [self.java.java, f"-Xmx{heap_mb}m", *JVM_FLAGS, *_LOG_FLAGS, *cached, *flags, "-cp", path, _MAIN[role]]


def _ensure_program(jars: Sequence[Path], java: JavaRuntime, progress: Progress, cache: Cache) -> Path:
    """The jar of the program that runs jobs, compiled at the first use.

    It is kept apart from compiled programs of users, whose times change with every use: a start-up cache accepts only
    the very file that it was made with.
    """
    key = hashlib.sha256(
        b"\0".join([SOURCE.read_bytes(), java.version.encode(), *(str(jar).encode() for jar in jars)])
    )
    kept = cache.path("flink", f"FlinkProgram-{key.hexdigest()[:16]}.jar")
    if not kept.is_file():
        cache.write(kept, compile_java(SOURCE, jars, java=java, progress=progress, cache=cache).read_bytes())
        keep_newest(kept.parent, "FlinkProgram-*.jar", KEPT_PROGRAMS)
    return kept
