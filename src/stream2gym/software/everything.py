"""All the software that runs may need, in one go: what ``setup`` does, and what ``run`` can lean on offline."""

from __future__ import annotations

from pathlib import Path

from stream2gym.errors import Defect
from stream2gym.software.aot import failure_file
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, ensure_list
from stream2gym.software.java import JavaRuntime, find_java, spark_home
from stream2gym.software.kafka import KafkaSoftware
from stream2gym.software.lists import KAFKA, SHIPPED, kafka_list
from stream2gym.software.lock import Artifact, LockList, shipped
from stream2gym.software.resolve import load_list


def ensure_jars(
    name: str,
    progress: Progress | None = None,
    *,
    cache: Cache | None = None,
    java: JavaRuntime | None = None,
) -> tuple[Path, ...]:
    """The jars of one shipped list (``lists.SPARK_KAFKA``, ``JDBC``, ``MARIADB``), fetched when missing."""
    locks = shipped(name)
    if locks is None:
        raise Defect(f"there is no lock list {name}; there are {', '.join(SHIPPED)}")
    return ensure_list(locks, cache or Cache.here(), java, progress)


def ensure_everything(
    kafka_version: str = KAFKA,
    java: str | None = None,
    progress: Progress | None = None,
    *,
    cache: Cache | None = None,
) -> KafkaSoftware:
    """Fetch and make all of it; a start-up cache that failed before is tried again."""
    cache = cache or Cache.here()
    runtime = find_java(java, cache)
    _fetch_together(
        [name for name in SHIPPED if name != kafka_list() or kafka_version == KAFKA], cache, progress
    )
    kafka = KafkaSoftware.ensure(kafka_version, runtime, progress, cache=cache, aot=False)
    failure_file(kafka).unlink(missing_ok=True)
    kafka = KafkaSoftware.ensure(kafka_version, runtime, progress, cache=cache)
    spark_home(runtime, cache)
    return kafka


def _fetch_together(names: list[str], cache: Cache, progress: Progress | None) -> None:
    """One fetch for several lists: the small jars come while the large one does."""
    lists = [found for name in names if (found := shipped(name))]
    every = {artifact.coordinate: artifact for locks in lists for artifact in locks.artifacts}
    ensure_list(LockList("the software", (), tuple(every.values())), cache, progress=progress)


def verify_everything(
    kafka_version: str = KAFKA, progress: Progress | None = None, *, cache: Cache | None = None
) -> list[Artifact]:
    """Read every jar that is there again; those that have changed are removed, and are the answer."""
    cache = cache or Cache.here()
    names = [kafka_list(kafka_version), *SHIPPED]
    lists = [found for name in dict.fromkeys(names) if (found := load_list(name, cache))]
    present = {a.coordinate: a for locks in lists for a in locks.artifacts if cache.jar(a).is_file()}
    total, done, broken = sum(artifact.size for artifact in present.values()), 0, []
    for artifact in present.values():
        if not cache.verify(artifact):
            broken.append(artifact)
        done += artifact.size
        if progress:
            progress("verifying", done, total)
    return broken
