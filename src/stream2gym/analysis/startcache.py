"""The start-up cache of the analysis: Java's ahead-of-time cache over a rehearsal, made once a machine.

Keyed by Java, PySpark and our own way of asking; remade when one of them changes. Without it an analysis only
takes longer. ``make_start_cache`` is for setup.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime, find_java

OLDEST_WITH_CACHE = 25
REHEARSAL = 1  # counts up when the queries change so much that a new rehearsal pays


def cache_file(java: JavaRuntime, cache: Cache | None = None) -> Path:
    """Where the cache for this Java and this PySpark is, or would be."""
    from stream2gym.analysis.session import class_path, java_command

    parts = [java.version, version("pyspark"), str(REHEARSAL), class_path(), *java_command(java)]
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
        with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=file.parent) as scratch:
            made = Path(scratch) / "analysis.aot"
            run = rehearsal().write(Path(scratch) / "run")
            with open_session(options=(f"-XX:AOTCacheOutput={made}",)) as session:
                analyse(run, session=session)
            if not made.is_file():
                return None
            made.replace(file)
    return file
