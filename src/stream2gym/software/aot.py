"""The start-up cache of a broker's JVM: classes read, linked and laid out once, mapped by every later start.

Java 25 and later have an ahead-of-time cache, older ones a class data archive; both are written at the orderly
end of a training run. The training run is a real broker on loopback. The file's name holds a hash of all that
it depends on (Java, jars, flags), so that a change makes a new one. It only saves time: whatever goes wrong
here, a broker starts without it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.errors import StartFailed
from stream2gym.software.java import JavaRuntime

if TYPE_CHECKING:
    from stream2gym.software.fetch import Progress
    from stream2gym.software.kafka import KafkaSoftware

AOT_FROM = 25


def use_flags(java: JavaRuntime, file: Path | None) -> list[str]:
    """JVM flags that use the cache; the JVM goes on without it when it does not fit."""
    if file is None:
        return []
    return [f"-XX:AOTCache={file}"] if java.major >= AOT_FROM else [f"-XX:SharedArchiveFile={file}"]


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
    file, failed = aot_file(software), aot_file(software).with_suffix(".failed")
    if not file.is_file() and not failed.is_file():
        with software.cache.lock(on_wait=lambda words: say(words, 0, 0)):
            if not file.is_file():
                say(f"making the start-up cache of Kafka {software.version} (once)", 0, 0)
                try:
                    _make(software, file)
                except (StartFailed, OSError, subprocess.TimeoutExpired) as error:
                    software.cache.write(failed, f"{error}\n".encode())
    return replace(software, aot=file) if file.is_file() else software


def forget_failure(software: KafkaSoftware) -> None:
    """Let the next ``ensure_aot`` try again."""
    aot_file(software).with_suffix(".failed").unlink(missing_ok=True)


def _make(software: KafkaSoftware, file: Path) -> None:
    from stream2gym.software.bare import bare_broker

    with software.cache.scratch() as scratch:
        made = scratch / "cache.aot"
        with bare_broker(software, scratch, make_flags(software.java, made)):
            pass
        if not made.is_file() or made.stat().st_size == 0:
            log = (scratch / "broker.log").read_text("utf-8", errors="replace")[-1000:]
            raise StartFailed(f"the training run left no start-up cache:\n{log}")
        with made.open("rb") as handle:
            os.fsync(handle.fileno())
        file.parent.mkdir(parents=True, exist_ok=True)
        made.replace(file)
    for old in file.parent.glob(f"kafka-{software.version}-java{software.java.major}-*"):
        if old != file:
            old.unlink(missing_ok=True)
