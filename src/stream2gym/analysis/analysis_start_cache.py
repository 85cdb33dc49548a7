"""Which start-up cache the JVM of an analysis uses; ``rehearsal`` makes it."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

from stream2gym.analysis.spark_jvm import class_path, java_command
from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime
from stream2gym.software.start_cache import StartCache, use_flags

# The version of the rehearsal. It is raised when the queries have changed so much that a new cache saves time.
REHEARSAL = 1


def analysis_start_cache(java: JavaRuntime, cache: Cache | None = None) -> StartCache:
    """The start-up cache for this Java and this PySpark."""
    jars = [Path(jar) for jar in class_path().split(os.pathsep)]
    depends_on = [version("pyspark"), str(REHEARSAL), *java_command(java)]
    folder = (cache or Cache.here()).path("spark")
    return StartCache.of("the analysis", java, folder, "analysis", depends_on=depends_on, files=jars)


def start_options(java: JavaRuntime, cache: Cache | None = None) -> tuple[str, ...]:
    """Options that make the JVM use the cache, when it is there."""
    return tuple(use_flags(java, analysis_start_cache(java, cache).find()))
