"""The registry of kinds: faults, engines and stores that an experiment may name.

A ``Kind`` is what a plug-in declares before anything runs. Built-in ones stand in tables; others come through
the entry points ``stream2gym.faults``, ``stream2gym.engines`` and ``stream2gym.stores``, each naming a
``Kind`` or a class whose attribute ``KIND`` is one. Names are read in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Literal

from pydantic import BaseModel

Family = Literal["fault", "engine", "store"]
FAMILIES: tuple[Family, ...] = ("fault", "engine", "store")


@dataclass(frozen=True)
class Kind:
    """One kind of fault, engine or store."""

    family: Family
    name: str
    summary: str
    settings: type[BaseModel]
    also: tuple[str, ...] = ()  # other names that people write
    runnable: bool = False  # whether this version can do it, or only reads it
    targets: frozenset[str] = frozenset()  # faults: what it is done to
    needs: str = ""  # faults: the capability that a component must have
    momentary: bool = False  # faults: done at once or by itself, so that there is nothing to undo later
    capabilities: frozenset[str] = frozenset()  # engines and stores: what can be done to it
    port: int | None = None  # engines and stores: where it listens unless told otherwise
    app: bool = False  # engines: runs a program of the user's


@dataclass(frozen=True)
class Registry:
    """The kinds of one family, and the plug-ins that could not be loaded, with the reason."""

    family: Family
    kinds: dict[str, Kind]
    broken: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Kind | None:
        """The kind of that name, whatever its case."""
        lower = name.strip().lower()
        return next(
            (k for k in self.kinds.values() if lower in (k.name.lower(), *map(str.lower, k.also))), None
        )

    def names(self) -> list[str]:
        return list(self.kinds)


@cache
def registry(family: Family) -> Registry:
    """Built-in kinds and those of installed plug-ins."""
    kinds = {kind.name: kind for kind in _built_in(family)}
    broken: dict[str, str] = {}
    for entry in entry_points(group=f"stream2gym.{family}s"):
        try:
            loaded = entry.load()
        except Exception as error:  # a plug-in may fail in any way, and must not take validate with it
            broken[entry.name] = f"{type(error).__name__}: {error}"
            continue
        kind = loaded if isinstance(loaded, Kind) else getattr(loaded, "KIND", None)
        if isinstance(kind, Kind) and kind.family == family:
            kinds[kind.name] = kind
        else:
            broken[entry.name] = f"{entry.value} is no Kind of {family} and has none as its KIND"
    return Registry(family, kinds, broken)


def _built_in(family: Family) -> tuple[Kind, ...]:
    from stream2gym.kinds import engines, faults, stores

    return {"fault": faults.KINDS, "engine": engines.KINDS, "store": stores.KINDS}[family]
