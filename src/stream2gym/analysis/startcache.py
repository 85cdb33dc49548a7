"""The start-up cache of the analysis: Java's ahead-of-time cache over a rehearsal, made once a machine.

Keyed by Java, PySpark and our own way of asking; remade when one of them changes. Without it an analysis only
takes longer. ``make_start_cache`` is for setup. A first run, which waits for its downloads anyway, has a
``Rehearsal`` made meanwhile by a process of its own (``python -m stream2gym.analysis.startcache``).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

from stream2gym.errors import S2gError, StartFailed
from stream2gym.software import child
from stream2gym.software.cache import Cache, keep_newest
from stream2gym.software.fetch import Progress
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.wait import wait_until

OLDEST_WITH_CACHE = 25
REHEARSAL_S = 240.0  # what a run waits for one, at most
STALE_S = 3600.0  # a rehearsal's folder that is older was left by one that was killed
KEPT = 2  # of some 200 MB each
REHEARSAL = 1  # counts up when the queries change so much that a new rehearsal pays


def cache_file(java: JavaRuntime, cache: Cache | None = None) -> Path:
    """Where the cache for this Java and this PySpark is, or would be."""
    from stream2gym.analysis.session import class_path, java_command

    parts = [java.version, version("pyspark"), str(REHEARSAL), class_path(), *java_command(java)]
    # Java takes no cache that was made over other files, even if only their times differ.
    parts += [str(Path(jar).stat().st_mtime_ns) for jar in class_path().split(os.pathsep)]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    return (cache or Cache.here()).path("spark", f"analysis-{key}.aot")


def start_options(java: JavaRuntime, cache: Cache | None = None) -> tuple[str, ...]:
    """Options that make the JVM use the cache, when it is there."""
    file = cache_file(java, cache)
    return (f"-XX:AOTCache={file}",) if file.is_file() else ()


def make_start_cache(java: JavaRuntime | None = None, cache: Cache | None = None) -> Path | None:
    """Rehearse an analysis and keep what Java learned; None where this Java has no such cache."""
    java, cache = java or find_java(), cache or Cache.here()
    file = cache_file(java, cache)
    if java.major < OLDEST_WITH_CACHE:
        return None
    if not file.is_file():
        from stream2gym.analysis.analyse import analyse
        from stream2gym.analysis.fakerun import rehearsal
        from stream2gym.analysis.session import open_session

        file.parent.mkdir(parents=True, exist_ok=True)
        _sweep(file.parent)
        with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=file.parent) as scratch:
            made = Path(scratch) / "analysis.aot"
            run = rehearsal().write(Path(scratch) / "run")
            with open_session(options=(f"-XX:AOTCacheOutput={made}",)) as session:
                analyse(run, session=session)
            if not made.is_file():
                return None
            made.replace(file)
        keep_newest(file.parent, "analysis-*.aot", KEPT)
    return file


def _sweep(folder: Path) -> None:
    for left in folder.glob("rehearsal-*"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - STALE_S:
                shutil.rmtree(left, ignore_errors=True)


class Rehearsal:
    """The cache in the making, beside something else; it ends with the block, done or not."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = contextlib.ExitStack()

    def start(self) -> None:
        """Begin, unless there is nothing to make; a machine where that cannot be goes on without."""
        java = find_java()
        if java.major < OLDEST_WITH_CACHE or start_options(java):
            return
        with contextlib.suppress(OSError, S2gError):
            folder = Path(self._folder.enter_context(tempfile.TemporaryDirectory(prefix="s2g-rehearsal-")))
            argv = [sys.executable, "-m", "stream2gym.analysis.startcache"]
            self._process = child.start(argv, folder / "log", folder)

    def wait(self, progress: Progress) -> None:
        """Until it is made, or has taken too long: it only saves time."""
        process = self._process
        if process is None:
            return

        def over() -> bool:
            progress("making the start-up cache of the analysis (once)", 0, 0)
            return process.poll() is not None

        with contextlib.suppress(_TooLong):
            wait_until(over, timeout_s=REHEARSAL_S, reason="the rehearsal", every_s=0.1, error=_TooLong)
        self.close()

    def close(self) -> None:
        if self._process is not None:
            child.end(self._process)
            self._process = None
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class _TooLong(StartFailed):
    pass


if __name__ == "__main__":
    make_start_cache()
