"""Default names of components and faults: ``broker-h2``, ``producer-h1-1``, ``down-1``.

A host has one broker at most, so the name of a broker has no number. A component without a host is numbered among
those of its kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def component_stem(kind: str, host: str | None, controller: object = None) -> str:
    """The first part of the default name of a component."""
    word = "controller" if kind == "broker" and controller == "only" else kind
    return f"{word}-{host}" if host else word


def fill_names(given: Sequence[str | None], stems: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, with default names in place of missing ones. ``taken`` are further names that are in use."""
    used = set(taken) | {name for name in given if name}
    count: Counter[str] = Counter()
    names = []
    for name, stem in zip(given, stems, strict=True):
        if name:
            names.append(name)
            continue
        free = stem if "-" in stem and stem.split("-")[0] in ("broker", "controller") else ""
        while not free or free in used:
            count[stem] += 1
            free = f"{stem}-{count[stem]}"
        used.add(free)
        names.append(free)
    return names
