"""Kafka Streams as software on disk: its jars, the Java that runs it, and the command that starts a program.

A program is a Java file, which is compiled, or a jar. Our launcher starts it: it holds the program at the gate and
reports from inside its process (``clients/java/StreamsLauncher.java`` has the contract). It is compiled, too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, ensure_jars, silent
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.software.java_classes import main_class
from stream2gym.software.java_compiler import compile_java
from stream2gym.software.kafka_software import JVM_FLAGS
from stream2gym.software.software_lists import KAFKA_STREAMS, ROCKSDB
from stream2gym.software.start_cache import use_flags

LAUNCHER = "stream2gym.StreamsLauncher"
LAUNCHER_SOURCE = Path(__file__).parents[1] / "clients" / "java" / "StreamsLauncher.java"
START_HEAP_MB = 16
# Kafka Streams tells the transitions of its states at INFO. The clients below it would tell every rebalance twice.
LOG_FLAGS = tuple(
    f"-Dorg.slf4j.simpleLogger.{setting}"
    for setting in (
        "showDateTime=true",
        "dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "showThreadName=false",
        "levelInBrackets=true",
        "log.org.apache.kafka.clients=warn",
        "log.org.apache.kafka.common=warn",
        "log.org.apache.kafka.streams.StreamsConfig=warn",
        "log.org.apache.kafka.streams.processor.internals.StreamThread=warn",
        "log.org.apache.kafka.streams.KafkaStreams=info",
    )
)


@dataclass(frozen=True)
class StreamsProgram:
    """A program that can be started: its jar and the class that has its main method."""

    jar: Path
    main: str


@dataclass(frozen=True)
class StreamsSoftware:
    """Kafka Streams, ready to start programs with one Java."""

    java: JavaRuntime
    # The launcher and the jars that every program has.
    jars: tuple[Path, ...]
    # RocksDB, where an experiment asks for it.
    rocksdb: tuple[Path, ...] = ()
    # What programs asked for besides.
    packages: tuple[Path, ...] = ()
    start_cache: Path | None = None

    @classmethod
    def ensure(
        cls,
        progress: Progress = silent,
        *,
        rocksdb: bool = False,
        java: str | None = None,
        cache: Cache | None = None,
    ) -> StreamsSoftware:
        """Fetch what is missing of Kafka Streams, and compile the launcher."""
        cache = cache or Cache.here()
        runtime = find_java(java, cache)
        jars = ensure_jars(KAFKA_STREAMS, progress, cache=cache, java=runtime)
        launcher = compile_java(LAUNCHER_SOURCE, (), java=runtime, progress=progress, cache=cache)
        extra = ensure_jars(ROCKSDB, progress, cache=cache, java=runtime) if rocksdb else ()
        return cls(runtime, (launcher, *jars), extra)

    def program(
        self,
        app: Path,
        main: str | None,
        *,
        where: str = "",
        progress: Progress = silent,
        cache: Cache | None = None,
    ) -> StreamsProgram:
        """The program in a Java file or a jar. BadInput says what is wrong with it, and where."""
        if app.suffix == ".jar":
            return StreamsProgram(app, main_class(app, main, where=where))
        if app.suffix != ".java":
            hint = "a .java file, which is compiled, or a .jar"
            raise BadInput(Mistake(where, "is no program of Kafka Streams", hint, str(app)))
        against = (*self.jars, *self.rocksdb, *self.packages)
        jar = compile_java(app, against, where=where, java=self.java, progress=progress, cache=cache)
        return StreamsProgram(jar, main_class(jar, main, where=where, shown=str(app)))

    def command(
        self, program: StreamsProgram, *, heap_mb: int, rocksdb: bool = False, flags: Sequence[str] = ()
    ) -> list[str]:
        """The command of the JVM of a program. What every program has comes first, as a start-up cache demands."""
        own = [*self.jars, *(self.rocksdb if rocksdb else ()), *self.packages, program.jar]
        heap = [f"-Xms{min(START_HEAP_MB, heap_mb)}m", f"-Xmx{heap_mb}m"]
        cached = use_flags(self.java, self.start_cache)
        class_path = os.pathsep.join(map(str, own))
        return [
            self.java.java, *heap, *JVM_FLAGS, *cached, *LOG_FLAGS, *flags, "-cp", class_path, LAUNCHER, program.main,
        ]  # fmt: skip
