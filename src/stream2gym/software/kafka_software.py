"""Apache Kafka as software on disk: its jars, the Java that runs it, and the one command that starts a broker.

``ensure_kafka`` gets everything (fetching what is missing); a broker component then formats a data folder
(``kafka_storage``), writes a properties file (``kafka_config``) and runs ``command``. The JVM flags live
here and nowhere else, because a start-up cache only serves a JVM with the flags that it was made with.
The broker logs to its standard output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import missing_of
from stream2gym.software.java import JavaRuntime
from stream2gym.software.resolve import load_list
from stream2gym.software.software_lists import KAFKA, OLDEST_KAFKA, kafka_list
from stream2gym.software.start_cache import ARCHIVE_FROM, StartCache, use_flags

MAIN = "kafka.Kafka"
HEAP_MB = 256
START_HEAP_MB = 32  # Java would start with a 64th of the machine: 58 MB more a broker after some load, for nothing
# The compiler that starts fast, the collector that needs no threads, no files in /tmp, and death rather than a
# half-alive broker when the heap is too small.
JVM_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
)
# Kafka lists its three hundred properties on every start; the experiment records them, so that stays quiet.
LOG_FLAGS = tuple(
    f"-Dorg.slf4j.simpleLogger.{setting}"
    for setting in (
        "logFile=System.out",
        "showDateTime=true",
        "dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "showThreadName=false",
        "levelInBrackets=true",
        "log.kafka.server.KafkaConfig=warn",
        "log.org.apache.kafka.common.config.AbstractConfig=warn",
    )
)


@dataclass(frozen=True)
class KafkaSoftware:
    """One version of Kafka, ready to start brokers with one Java."""

    version: str
    java: JavaRuntime
    jars: tuple[Path, ...]
    cache: Cache
    start_cache: Path | None = None  # without it a broker needs a second more to start
    origin: str = "shipped"  # whose sums were checked: ours, or those of the first fetch here

    @property
    def classpath(self) -> str:
        return ":".join(str(jar) for jar in self.jars)

    def jvm_flags(self, heap_mb: int = HEAP_MB) -> list[str]:
        heap = [f"-Xms{min(START_HEAP_MB, heap_mb)}m", f"-Xmx{heap_mb}m"]
        return [*heap, *JVM_FLAGS, *use_flags(self.java, self.start_cache), *LOG_FLAGS]

    def command(self, config_path: Path | str, heap_mb: int = HEAP_MB) -> list[str]:
        """The command line of a broker (or controller) with this properties file."""
        return [self.java.java, *self.jvm_flags(heap_mb), "-cp", self.classpath, MAIN, str(config_path)]


def kafka_start_cache(software: KafkaSoftware) -> StartCache:
    """The start-up cache of this Kafka's brokers, whatever their heap."""
    return StartCache.of(
        f"Kafka {software.version}", software.java, software.cache.path("aot"), "kafka",
        depends_on=JVM_FLAGS, files=software.jars, oldest_java=ARCHIVE_FROM, kept=4,
    )  # fmt: skip


def is_fetched(version: str = KAFKA, cache: Cache | None = None) -> bool:
    """Whether this version can be used without a download."""
    cache = cache or Cache.here()
    locks = load_list(kafka_list(version), cache)
    return locks is not None and not missing_of(locks, cache)


def check_version(version: str) -> None:
    """Refuse a text that is no version, and versions of Kafka without KRaft as their default."""
    numbers = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(-rc\d+)?", version)
    oldest = ".".join(map(str, OLDEST_KAFKA))
    if not numbers:
        raise BadInput(Mistake("kafka.version", f"{version!r} is not a version", f"for example {KAFKA}"))
    if (int(numbers[1]), int(numbers[2])) < OLDEST_KAFKA:
        raise BadInput(Mistake("kafka.version", f"{version} is too old", f"{oldest} or later, for example {KAFKA}"))
