"""Start-up caches of JVMs: classes are read, linked and laid out once, and every later start maps the result.

Java 25 and later have an ahead-of-time cache, older ones a class data archive. Java writes either at the orderly end
of a rehearsal (its documentation says training run), which is a real piece of work of the program. A cache only saves
time: whatever goes wrong here, the program starts without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from stream2gym.errors import Interrupted, S2gError, StartFailed
from stream2gym.software.cache import Cache, keep_newest, sync_file
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.java import JavaRuntime

AOT_FROM = 25  # the first Java with an ahead-of-time cache
ARCHIVE_FROM = 17
# Does the work in the given folder, in a JVM with the given flags, and returns what the program printed.
Rehearse = Callable[[Path, list[str]], str]


@dataclass(frozen=True)
class StartCache:
    """The start-up cache of one program, with one Java and one set of jars."""

    program: str  # for messages: "Kafka 4.3.1"
    java: JavaRuntime
    file: Path
    oldest_java: int
    kept: int  # caches of this kind that stay, because several clones and Javas may share a folder

    @classmethod
    def of(
        cls,
        program: str,
        java: JavaRuntime,
        folder: Path,
        kind: str,
        *,
        depends_on: Iterable[str],
        files: Iterable[Path],
        oldest_java: int = AOT_FROM,
        kept: int = 2,
    ) -> Self:
        """The cache in ``folder`` whose name is ``kind`` and a hash of all that Java compares before it accepts one.

        ``depends_on`` are the class path, the flags and what else needs another cache. Of ``files`` the paths, sizes
        and times count, of Java the size and time: Java accepts a cache that the same Java made in another place, so
        that environments whose packages are links to the same files share one.
        """
        own = Path(java.java).stat()
        parts = [java.version, str(own.st_size), str(own.st_mtime_ns), *depends_on]
        for file in files:
            stat = file.stat()
            parts += [str(file), str(stat.st_size), str(stat.st_mtime_ns)]
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
        return cls(program, java, folder / f"{kind}-{key}.aot", oldest_java, kept)

    @property
    def failure_file(self) -> Path:
        """Says why a rehearsal failed, so that not every run tries again."""
        return self.file.with_suffix(".failed")

    def forget_failure(self) -> None:
        """Let the next ``ensure`` try again."""
        self.failure_file.unlink(missing_ok=True)

    def find(self) -> Path | None:
        """The file if it is there. It counts as used: the least recently used caches are removed first."""
        if not self.file.is_file():
            return None
        with contextlib.suppress(OSError):
            os.utime(self.file)
        return self.file

    def can_be_made(self) -> bool:
        """Whether the file is missing, this Java can make it, and no rehearsal has failed before."""
        wanted = not self.file.is_file() and self.java.major >= self.oldest_java
        return wanted and not self.failure_file.is_file()

    def ensure(self, rehearse: Rehearse, progress: Progress = silent) -> Path | None:
        """The file, made now if it is missing; None where it cannot be made."""
        if self.can_be_made():
            # The lock is that of this folder, not of the whole cache: software may be fetched meanwhile.
            folder = Cache(self.file.parent)
            try:
                with folder.lock(on_wait=lambda words: progress(words, 0, 0)):
                    if self.can_be_made():
                        progress(f"making the start-up cache of {self.program} (once)", 0, 0)
                        self._make(folder, rehearse)
            except Interrupted:
                raise
            except (S2gError, OSError, subprocess.TimeoutExpired) as error:
                progress(f"no start-up cache, {self.program} starts slower: {error}", 0, 0)
        return self.find()

    def _make(self, folder: Cache, rehearse: Rehearse) -> None:
        folder.sweep()
        with folder.disk(), folder.scratch() as scratch:
            made = scratch / "made.aot"
            try:
                printed = rehearse(scratch, make_flags(self.java, made))
                if not made.is_file() or made.stat().st_size == 0:
                    raise StartFailed(f"the rehearsal left no start-up cache:\n{printed[-1000:]}")
            except StartFailed as error:
                folder.write(self.failure_file, f"{error}\n".encode())
                raise
            sync_file(made)
            made.replace(self.file)
        kind = self.file.name.partition("-")[0]
        keep_newest(self.file.parent, f"{kind}-*.aot", self.kept)


def use_flags(java: JavaRuntime, file: Path | None) -> list[str]:
    """JVM flags that use a cache; the JVM goes on without it, and without a word, when it does not fit."""
    if file is None:
        return []
    if java.major >= AOT_FROM:
        return [f"-XX:AOTCache={file}", "-Xlog:aot*=off", "-Xlog:cds*=off"]
    return [f"-XX:SharedArchiveFile={file}", "-Xlog:cds*=off"]


def make_flags(java: JavaRuntime, file: Path) -> list[str]:
    """JVM flags that write a cache at the orderly end of the JVM."""
    return [f"-XX:AOTCacheOutput={file}"] if java.major >= AOT_FROM else [f"-XX:ArchiveClassesAtExit={file}"]
