"""Further packages that a job asks for by their coordinates: resolved before the run, since hosts have no way out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress, ensure_list
from stream2gym.software.java import find_java
from stream2gym.software.resolve import load_list, record_list


def ensure_packages(
    coordinates: Sequence[str], progress: Progress | None = None, *, cache: Cache | None = None
) -> tuple[Path, ...]:
    """The jars of ``group:name:version`` coordinates and all that they need; sums are recorded on first use."""
    if not coordinates:
        return ()
    cache = cache or Cache.here()
    name = f"packages-{hashlib.sha256(' '.join(coordinates).encode()).hexdigest()[:16]}"
    found = load_list(name, cache) or record_list(name, coordinates, cache, find_java(cache=cache), progress)
    return ensure_list(found, cache, progress=progress)
