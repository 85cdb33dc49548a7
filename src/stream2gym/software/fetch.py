"""Fetching what a lock list names into the cache: several Ivy processes at once, every sum checked.

``ensure_list`` is the door: it answers at once when all is there, else holds the cache's lock, keeps what an
earlier, interrupted fetch left, gets the rest, tries a second time what failed, and explains what still did.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from stream2gym.errors import CannotHere, StartFailed
from stream2gym.software import child, ivy
from stream2gym.software.cache import Cache, WrongSum
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.software.lock import Artifact, LockList
from stream2gym.wait import wait_until

Progress = Callable[[str, int, int], None]  # what is going on, bytes done, bytes in all (0: unknown)

PROCESSES = 3
TRIES = 2
FETCH_TIMEOUT_S = 1800.0
_ROOM_FACTOR = 2.1  # Ivy keeps a copy of its own until a batch is done


def ensure_list(
    locks: LockList, cache: Cache, java: JavaRuntime | None = None, progress: Progress | None = None
) -> tuple[Path, ...]:
    """The jars of a list, in its order; fetched first when some are missing."""
    say = progress or _silent
    if missing_of(locks, cache):
        with cache.lock(on_wait=lambda words: say(words, 0, 0)):
            for folder in cache.leftovers():
                _harvest(folder, locks.artifacts, cache)
            cache.sweep()
            missing = missing_of(locks, cache)
            if missing:
                _fetch(locks.name, missing, cache, java or find_java(cache=cache), say)
    return tuple(cache.jar(artifact) for artifact in locks.artifacts)


def missing_of(locks: LockList, cache: Cache) -> list[Artifact]:
    return [artifact for artifact in locks.artifacts if not cache.has(artifact)]


def batches_of(artifacts: Sequence[Artifact], count: int) -> list[list[Artifact]]:
    """Split the work evenly by size; a jar costs a round trip as well as its bytes."""
    batches: list[list[Artifact]] = [[] for _ in range(min(count, len(artifacts)))]
    load = [0] * len(batches)
    for artifact in sorted(artifacts, key=lambda a: -a.size):
        lightest = load.index(min(load))
        batches[lightest].append(artifact)
        load[lightest] += artifact.size + 500_000
    return batches


def _fetch(name: str, missing: list[Artifact], cache: Cache, java: JavaRuntime, say: Progress) -> None:
    needed = int(sum(artifact.size for artifact in missing) * _ROOM_FACTOR)
    trouble: Exception | None = None
    with cache.disk(needed):
        pass
    for _ in range(TRIES):
        with cache.scratch() as scratch, cache.disk(needed):
            trouble = _round(missing, scratch, cache, java, name=name, say=say)
        before, missing = missing, [artifact for artifact in missing if not cache.has(artifact)]
        if not missing:
            return
        if isinstance(trouble, CannotHere) and len(missing) == len(before):
            break  # no network or no room: a second attempt would only cost time
    raise trouble or StartFailed(f"Ivy ended well but brought no {missing[0].coordinate}")


def _round(
    wanted: list[Artifact], scratch: Path, cache: Cache, java: JavaRuntime, *, name: str, say: Progress
) -> Exception | None:
    """One attempt at all that is wanted; what came is in the cache, what went wrong is the answer."""
    total = sum(artifact.size for artifact in wanted)
    trouble: Exception | None = None
    with contextlib.ExitStack() as undo:
        undo.callback(_harvest, scratch, wanted, cache)  # after the processes ended, also when interrupted
        running: dict[Path, subprocess.Popen[bytes]] = {}
        for number, batch in enumerate(batches_of(wanted, PROCESSES)):
            folder = scratch / str(number)
            running[folder] = ivy.start(batch, folder, java, cache)
            undo.callback(child.end, running[folder])

        def all_ended() -> bool:
            say(
                f"fetching {name}",
                min(_bytes_below(scratch / f.name / "cache" for f in running), total),
                total,
            )
            return all(process.poll() is not None for process in running.values())

        wait_until(all_ended, timeout_s=FETCH_TIMEOUT_S, reason=f"the jars of {name}", every_s=0.1)
        wrong = _harvest(scratch, wanted, cache)
        failed = [folder for folder, process in running.items() if process.returncode != 0]
        if wrong:
            trouble = wrong
        elif failed:
            needed = int(total * _ROOM_FACTOR)
            trouble = ivy.explain(failed[0] / "ivy.log", cache, needed)
        say(f"fetching {name}", total, total)
    return trouble


def _harvest(folder: Path, wanted: Iterable[Artifact], cache: Cache) -> WrongSum | None:
    """Bring every whole jar below ``folder`` into the cache; the first one with a wrong sum is the answer."""
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


def _bytes_below(folders: Iterable[Path]) -> int:
    total = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    total += os.stat(os.path.join(parent, name)).st_size
    return total


def _silent(_what: str, _done: int, _total: int) -> None:
    pass
