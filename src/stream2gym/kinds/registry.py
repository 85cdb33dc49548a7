"""The registry of kinds: faults, engines and stores that an experiment may name, and monitors.

A ``Kind`` is what a plug-in declares before anything runs. Built-in ones stand in tables; others come from the entry
points of installed packages, each naming a ``Kind`` or a class whose attribute ``KIND`` is one. Names are read in any
case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from stream2gym.kinds import engine_settings, fault_settings, monitor_sources, store_settings
from stream2gym.kinds.kind import Family, Kind
from stream2gym.kinds.plugins import PlugIns, load_plug_ins

__all__ = ["BUILT_IN", "Family", "Kind", "Registry", "registry"]  # plug-ins import Kind from here

C = TypeVar("C")

BUILT_IN: dict[Family, tuple[Kind, ...]] = {
    "fault": fault_settings.KINDS,
    "engine": engine_settings.KINDS,
    "store": store_settings.KINDS,
    "monitor": monitor_sources.KINDS,
}


@dataclass(frozen=True)
class Registry:
    """The kinds of one family by name, built-in and of plug-ins."""

    family: Family
    kinds: dict[str, Kind]
    plug_ins: PlugIns[Kind]

    @property
    def broken(self) -> dict[str, str]:
        """The plug-ins that cannot be used, by the name of their entry point, with the reason."""
        return self.plug_ins.broken

    def find(self, name: str) -> Kind | None:
        """The kind of that name, whatever its case."""
        lower = name.strip().lower()
        return next((k for k in self.kinds.values() if lower in (k.name.lower(), *map(str.lower, k.also))), None)

    def names(self) -> list[str]:
        return list(self.kinds)

    def plug_in_class(self, kind: str, base: type[C]) -> type[C] | None:
        """The class that does a kind of a plug-in; None where its entry point names no subclass of ``base``."""
        loaded = self.plug_ins.loaded.get(kind)
        return loaded if isinstance(loaded, type) and issubclass(loaded, base) else None


@cache
def registry(family: Family) -> Registry:
    """The registry of a family. Plug-ins are loaded once."""
    expected = f"Kind of {family} and has none as its KIND"
    plug_ins = load_plug_ins(family, lambda loaded: _kind_of(loaded, family), expected, BUILT_IN[family])
    return Registry(family, {kind.name: kind for kind in BUILT_IN[family]} | plug_ins.declared, plug_ins)


def _kind_of(loaded: Any, family: Family) -> Kind | None:
    kind = loaded if isinstance(loaded, Kind) else getattr(loaded, "KIND", None)
    return kind if isinstance(kind, Kind) and kind.family == family else None
