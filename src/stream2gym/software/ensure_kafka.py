"""Getting Kafka: what is missing is fetched, and what makes brokers start faster is made once on each machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, ensure_list, silent
from stream2gym.software.java import JavaRuntime, find_java
from stream2gym.software.kafka_software import KafkaSoftware, check_version, kafka_start_cache
from stream2gym.software.kafka_storage import ensure_checkpoint
from stream2gym.software.loopback_broker import exercise, loopback_broker
from stream2gym.software.resolve import load_list, record_list
from stream2gym.software.software_lists import KAFKA, kafka_list, kafka_roots


def ensure_kafka(
    version: str = KAFKA,
    java: JavaRuntime | str | None = None,
    progress: Progress = silent,
    *,
    cache: Cache | None = None,
    start_cache: bool = True,
) -> KafkaSoftware:
    """This version of Kafka with its start-up cache; what is missing is fetched and made."""
    check_version(version)
    cache = cache or Cache.here()
    runtime = java if isinstance(java, JavaRuntime) else find_java(java, cache)
    name = kafka_list(version)
    locks = load_list(name, cache) or record_list(name, kafka_roots(version), cache, runtime, progress)
    jars = ensure_list(locks, cache, runtime, progress)
    software = KafkaSoftware(version, runtime, jars, cache, origin=locks.origin)
    ensure_checkpoint(software)
    return with_start_cache(software, progress) if start_cache else software


def with_start_cache(software: KafkaSoftware, progress: Progress = silent) -> KafkaSoftware:
    """The software with its start-up cache, which is made now if it is missing; without one where that fails."""

    def rehearse(folder: Path, flags: list[str]) -> str:
        with loopback_broker(software, folder, flags) as broker:
            exercise(broker)
        return broker.log.read_text("utf-8", errors="replace")

    return replace(software, start_cache=kafka_start_cache(software).ensure(rehearse, progress))
