"""Fetching what a lock list names into the cache: parallel downloads, every checksum checked.

A lock list needs no resolver, only the address of a repository. Apache Ivy knows the public one and reads the user's
settings for a mirror. So Ivy fetches the smallest jar and reports from where, and the rest is downloaded from there.
What does not come that way is fetched by Ivy, too (from a mirror with a password, for example).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from stream2gym.errors import CannotHere, Defect, StartFailed
from stream2gym.software import child_process, ivy
from stream2gym.software.cache import DISK_FULL, Cache, WrongSum
from stream2gym.software.download import Downloads
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.software.lock_list import Artifact, LockList, shipped
from stream2gym.wait import wait_until

Progress = Callable[[str, int, int], None]  # what is going on, bytes done, bytes in all (0: unknown)
Show = Callable[[int], None]  # bytes that have come and are not in the cache yet

FETCH_TIMEOUT_S = 1800.0
LOOK_EVERY_S = 0.1
_IVY_ROOM_FACTOR = 2.1  # Ivy keeps a copy of its own until it is done


def silent(_what: str, _done: int, _total: int) -> None:
    """A ``Progress`` that shows nothing."""


def ensure_list(
    locks: LockList, cache: Cache, java: JavaRuntime | None = None, progress: Progress = silent
) -> tuple[Path, ...]:
    """The jars of a list, in its order. Missing ones are fetched; what an interrupted fetch left is used."""
    if missing_of(locks, cache):
        with cache.lock(on_wait=lambda words: progress(words, 0, 0)):
            for folder in cache.leftovers():
                _adopt_all(folder, locks.artifacts, cache)
            cache.sweep()
            if missing_of(locks, cache):
                _fetch(locks, cache, java or find_java(cache=cache), progress)
    return tuple(cache.jar(artifact) for artifact in locks.artifacts)


def ensure_jars(
    name: str,
    progress: Progress = silent,
    *,
    cache: Cache | None = None,
    java: JavaRuntime | None = None,
) -> tuple[Path, ...]:
    """The jars of one shipped list (``SPARK_KAFKA``, ``JDBC`` or ``MARIADB``), fetched if they are missing."""
    locks = shipped(name)
    if locks is None:
        raise Defect(f"there is no shipped list {name}")
    return ensure_list(locks, cache or Cache.here(), java, progress)


def missing_of(locks: LockList, cache: Cache) -> list[Artifact]:
    return [artifact for artifact in locks.artifacts if not cache.has(artifact)]


def _fetch(locks: LockList, cache: Cache, java: JavaRuntime, progress: Progress) -> None:
    """Fetch what the cache lacks; raises what hinders it. What came until then is kept."""
    wanted = missing_of(locks, cache)
    total = _size(wanted)

    def show(more: int) -> None:
        done = total - _size(missing_of(locks, cache)) + more
        progress(f"fetching {locks.name}", min(done, total), total)

    with cache.disk(total), cache.scratch() as scratch:
        try:
            smallest = min(wanted, key=lambda artifact: artifact.size)
            trouble = _fetch_by_ivy([smallest], scratch / "first", cache, java, show)
            address = ivy.repository_address(smallest, scratch / "first")
            if address is not None:
                _download(missing_of(locks, cache), address, scratch / "rest", show)
                _adopt_all(scratch / "rest", wanted, cache)
            left = missing_of(locks, cache)
            if left and not isinstance(trouble, CannotHere):  # no network or no room: that would only cost time
                trouble = _fetch_by_ivy(left, scratch / "again", cache, java, show)
        finally:
            _adopt_all(scratch, wanted, cache)
    if left := missing_of(locks, cache):
        raise trouble or StartFailed(f"Ivy ended well but brought no {left[0].coordinate}")
    show(0)


def _download(wanted: list[Artifact], address: str, folder: Path, show: Show) -> None:
    """Download these to ``folder``. Failures are left to Ivy, except a full disk."""
    largest_first = sorted(wanted, key=lambda artifact: -artifact.size)
    targets = {address + artifact.maven_path: folder / artifact.path for artifact in largest_first}
    with Downloads(targets) as downloads:

        def are_over() -> bool:
            show(downloads.received)
            return downloads.are_over()

        wait_until(are_over, timeout_s=FETCH_TIMEOUT_S, reason="the downloads", every_s=LOOK_EVERY_S)
    for error in downloads.errors:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise error


def _fetch_by_ivy(
    wanted: list[Artifact], folder: Path, cache: Cache, java: JavaRuntime, show: Show
) -> Exception | None:
    """Have Ivy fetch these into the cache. Returns what went wrong."""
    needed = int(_size(wanted) * _IVY_ROOM_FACTOR)
    with cache.disk(needed):
        process = ivy.start(wanted, folder, java, cache)

    def is_over() -> bool:
        show(_bytes_below(folder / "cache"))
        return process.poll() is not None

    try:
        wait_until(is_over, timeout_s=FETCH_TIMEOUT_S, reason="Ivy to fetch the jars", every_s=LOOK_EVERY_S)
    finally:
        child_process.end(process)
    wrong = _adopt_all(folder, wanted, cache)
    if wrong is None and process.returncode != 0:
        return ivy.explain(folder / "ivy.log", cache, needed)
    return wrong


def _adopt_all(folder: Path, wanted: Iterable[Artifact], cache: Cache) -> WrongSum | None:
    """Bring every whole jar below ``folder`` into the cache. Returns the first error about a wrong checksum."""
    found = {path.name: path for path in folder.rglob("*.jar") if path.is_file()}
    wrong = None
    for artifact in wanted:
        source = found.get(artifact.file_name)
        if source is not None and not cache.has(artifact):
            try:
                cache.adopt(artifact, source)
            except WrongSum as error:
                wrong = wrong or error
    return wrong


def _size(artifacts: Iterable[Artifact]) -> int:
    return sum(artifact.size for artifact in artifacts)


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total
