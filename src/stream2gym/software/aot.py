"""The start-up cache of a broker's JVM: classes read, linked and laid out once, mapped by every later start.

Java 25 and later have an ahead-of-time cache, older ones a class data archive; both are written at the orderly
end of a training run. The training run is a real broker on loopback that serves one topic. The file's name
holds a hash of all that it depends on (Java, jars, flags), so that a change makes a new one. It only saves
time: whatever goes wrong here, a broker starts without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.errors import S2gError, StartFailed
from stream2gym.software.cache import keep_newest
from stream2gym.software.java import JavaRuntime

if TYPE_CHECKING:
    from stream2gym.software.fetch import Progress
    from stream2gym.software.kafka import KafkaSoftware

AOT_FROM = 25
KEPT = 4  # several clones and Javas may share a cache; the least recently used beyond these go


def use_flags(java: JavaRuntime, file: Path | None) -> list[str]:
    """JVM flags that use the cache; the JVM goes on without it, and without a word, when it does not fit."""
    if file is None:
        return []
    if java.major >= AOT_FROM:
        return [f"-XX:AOTCache={file}", "-Xlog:aot*=off", "-Xlog:cds*=off"]
    return [f"-XX:SharedArchiveFile={file}", "-Xlog:cds*=off"]


def make_flags(java: JavaRuntime, file: Path) -> list[str]:
    """JVM flags that write the cache at the end."""
    return [f"-XX:AOTCacheOutput={file}"] if java.major >= AOT_FROM else [f"-XX:ArchiveClassesAtExit={file}"]


def aot_key(software: KafkaSoftware) -> str:
    """A hash of everything that the JVM compares before it accepts a cache."""
    from stream2gym.software.kafka import JVM_FLAGS

    java = os.stat(software.java.java)
    parts = [software.java.java, software.java.version, str(java.st_size), str(java.st_mtime_ns), *JVM_FLAGS]
    for jar in software.jars:
        stat = jar.stat()
        parts += [str(jar), str(stat.st_size), str(stat.st_mtime_ns)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def aot_file(software: KafkaSoftware) -> Path:
    return software.cache.path(
        "aot", f"kafka-{software.version}-java{software.java.major}-{aot_key(software)}.aot"
    )


def ensure_aot(software: KafkaSoftware, progress: Progress | None = None) -> KafkaSoftware:
    """The software with its start-up cache, made now when it is missing; without one when that fails."""
    say = progress or (lambda _what, _done, _total: None)
    file = aot_file(software)
    if not file.is_file() and not failure_file(software).is_file():
        try:
            with software.cache.lock(on_wait=lambda words: say(words, 0, 0)):
                if not file.is_file():
                    say(f"making the start-up cache of Kafka {software.version} (once)", 0, 0)
                    _make(software, file)
        except (S2gError, OSError, subprocess.TimeoutExpired) as error:
            say(f"no start-up cache, brokers start slower: {error}", 0, 0)
    if not file.is_file():
        return software
    with contextlib.suppress(OSError):
        os.utime(file)
    return replace(software, aot=file)


def failure_file(software: KafkaSoftware) -> Path:
    """Stands where a training run failed, so that not every run tries again; ``setup`` removes it."""
    return aot_file(software).with_suffix(".failed")


def _make(software: KafkaSoftware, file: Path) -> None:
    from stream2gym.software.bare import bare_broker, exercise

    cache = software.cache
    cache.sweep()
    with cache.disk(), cache.scratch() as scratch:
        made = scratch / "cache.aot"
        try:
            with bare_broker(software, scratch, make_flags(software.java, made)) as broker:
                exercise(broker)
            if not made.is_file() or made.stat().st_size == 0:
                words = broker.log.read_text("utf-8", errors="replace")[-1000:]
                raise StartFailed(f"the training run left no start-up cache:\n{words}")
        except StartFailed as error:
            cache.write(failure_file(software), f"{error}\n".encode())
            raise
        with made.open("rb") as handle:
            os.fsync(handle.fileno())
        file.parent.mkdir(parents=True, exist_ok=True)
        made.replace(file)
    keep_newest(file.parent, "*.aot", KEPT)
