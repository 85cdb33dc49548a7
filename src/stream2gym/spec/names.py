"""Names that components and faults get when the user gave none: ``broker-h2``, ``producer-h1-1``, ``down-1``.

One broker is all that a host has, so its name needs no number. A component that the plan will place has no
host yet and is numbered within its kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def component_stem(kind: str, host: str | None, controller: object = None) -> str:
    """What a name begins with."""
    word = "controller" if kind == "broker" and controller == "only" else kind
    return f"{word}-{host}" if host else word


def fill_names(given: Sequence[str | None], stems: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names with the missing ones filled in; ``taken`` are names that others have."""
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
