"""Everything that runs may need: fetched and made by ``setup``, so that later runs need no network."""

from __future__ import annotations

from stream2gym.software.cache import Cache
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.fetch import Progress, ensure_list, silent
from stream2gym.software.java import find_java, spark_home
from stream2gym.software.kafka_software import KafkaSoftware, kafka_start_cache
from stream2gym.software.lock_list import Artifact, LockList, shipped
from stream2gym.software.resolve import load_list
from stream2gym.software.software_lists import KAFKA, OPTIONAL, SHIPPED, kafka_list


def ensure_all_software(
    kafka_version: str = KAFKA,
    java: str | None = None,
    progress: Progress = silent,
    *,
    cache: Cache | None = None,
) -> KafkaSoftware:
    """Fetch the shipped lists and make the start-up cache of Kafka, also one whose rehearsal failed before.

    Lists on demand are left to the experiments that need them.
    """
    cache = cache or Cache.here()
    runtime = find_java(java, cache)
    wanted = [name for name, source in SHIPPED.items() if not source.on_demand]
    _fetch_together([name for name in wanted if name != kafka_list() or kafka_version == KAFKA], cache, progress)
    kafka = ensure_kafka(kafka_version, runtime, progress, cache=cache, start_cache=False)
    kafka_start_cache(kafka).forget_failure()
    kafka = ensure_kafka(kafka_version, runtime, progress, cache=cache)
    spark_home(runtime, cache)
    return kafka


def _fetch_together(names: list[str], cache: Cache, progress: Progress) -> None:
    """Fetch several lists at once, so that small jars are downloaded beside the large one."""
    lists = [found for name in names if (found := shipped(name))]
    every = {artifact.coordinate: artifact for locks in lists for artifact in locks.artifacts}
    ensure_list(LockList("the software", (), tuple(every.values())), cache, progress=progress)


def verify_all_software(
    kafka_version: str = KAFKA, progress: Progress = silent, *, cache: Cache | None = None
) -> list[Artifact]:
    """Read every fetched jar again. Those that have changed are removed and returned."""
    cache = cache or Cache.here()
    names = [kafka_list(kafka_version), *SHIPPED, *OPTIONAL]
    lists = [found for name in dict.fromkeys(names) if (found := load_list(name, cache))]
    present = {a.coordinate: a for locks in lists for a in locks.artifacts if cache.jar(a).is_file()}
    total, done, broken = sum(artifact.size for artifact in present.values()), 0, []
    for artifact in present.values():
        if not cache.verify(artifact):
            broken.append(artifact)
        done += artifact.size
        progress("verifying", done, total)
    return broken
