"""Making lock lists: the jars that some coordinates need, resolved once through their POMs, with their checksums.

``python -m stream2gym.software.resolve [NAME...]`` makes the shipped lists again. ``record_list`` does the same
for a version without a shipped list, on first use: its checksums are those of that first fetch (trust on first use),
kept in the cache and checked from then on.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from stream2gym.software import child_process, ivy
from stream2gym.software.cache import Cache, sha256_of
from stream2gym.software.fetch import Progress, ensure_list, silent
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.software.lock_list import Artifact, LockList, shipped
from stream2gym.wait import wait_until

RESOLVE_TIMEOUT_S = 900.0


def load_list(name: str, cache: Cache) -> LockList | None:
    """The shipped list of that name, else the one recorded on first use."""
    recorded = cache.path("locks", f"{name}.json")
    found = shipped(name)
    if found is None and recorded.is_file():
        found = LockList.from_json(json.loads(recorded.read_text("utf-8")))
    return found


def record_list(
    name: str, roots: Sequence[str], cache: Cache, java: JavaRuntime, progress: Progress = silent
) -> LockList:
    """Resolve, fetch and record a list that is not shipped; its jars are in the cache afterwards."""
    with cache.lock(on_wait=lambda words: progress(words, 0, 0)):
        found = load_list(name, cache)
        if found is not None:
            return found
        progress(f"finding out what {name} needs (first use: its sums are recorded now)", 0, 0)
        cache.sweep()
        with cache.scratch() as scratch:
            made = resolve(name, roots, scratch, cache, java, transitive=True)
            # A jar that is there stays as it is: start-up caches depend on its modification time.
            for artifact in (one for one in made.artifacts if not cache.has(one)):
                cache.adopt(artifact, scratch / ivy.RETRIEVED / artifact.path)
            made = LockList(made.name, made.roots, made.artifacts, origin="first use")
            cache.write(cache.path("locks", f"{name}.json"), made.dumps().encode())
        return made


def ensure_packages(
    coordinates: Sequence[str], progress: Progress = silent, *, cache: Cache | None = None
) -> tuple[Path, ...]:
    """The jars of further packages that a job names (``group:name:version``), and all that these need.

    They are resolved before the run, because hosts have no way out of the emulated network.
    """
    if not coordinates:
        return ()
    cache = cache or Cache.here()
    name = f"packages-{hashlib.sha256(' '.join(coordinates).encode()).hexdigest()[:16]}"
    found = load_list(name, cache) or record_list(name, coordinates, cache, find_java(cache=cache), progress)
    return ensure_list(found, cache, progress=progress)


def resolve(
    name: str, roots: Sequence[str], scratch: Path, cache: Cache, java: JavaRuntime, *, transitive: bool
) -> LockList:
    """Fetch the roots (and what they need) into ``scratch``, and list the jars with their checksums."""
    wanted = [Artifact.parse(root) for root in roots]
    with cache.disk():
        process = ivy.start(wanted, scratch, java, cache, transitive=transitive)
    try:
        wait_until(
            lambda: process.poll() is not None,
            timeout_s=RESOLVE_TIMEOUT_S,
            reason=f"Ivy to resolve {name}",
            every_s=0.1,
        )
    finally:
        child_process.end(process)
    if process.returncode != 0:
        raise ivy.explain(scratch / "ivy.log", cache)
    return LockList(name, tuple(roots), tuple(_listed(scratch / ivy.RETRIEVED, roots)))


def _listed(folder: Path, roots: Sequence[str]) -> list[Artifact]:
    """The jars of a folder: the roots first (so that class paths start with them), the rest by name."""
    found = []
    for jar in folder.rglob("*.jar"):
        group, name, version = jar.relative_to(folder).parts[:3]
        found.append(Artifact(group, name, version, sha256_of(jar), jar.stat().st_size))
    order = {root: number for number, root in enumerate(roots)}
    return sorted(found, key=lambda a: (order.get(a.coordinate, len(order)), a.coordinate))


def main(names: Sequence[str]) -> None:
    """Make the shipped lists again (all, or those named)."""
    from stream2gym.software.software_lists import OPTIONAL, SHIPPED

    cache = Cache.here()
    folder = Path(__file__).parent / "locks"
    for name, wish in (SHIPPED | OPTIONAL).items():
        if names and name not in names:
            continue
        with cache.lock(), cache.scratch() as scratch:
            made = resolve(name, wish.roots, scratch, cache, find_java(cache=cache), transitive=wish.transitive)
        (folder / f"{name}.json").write_text(made.dumps(), "utf-8")
        print(f"{name}: {len(made.artifacts)} jars, {made.size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
