"""The one loader of plug-ins: what installed packages name in the entry points of stream2gym.

The groups are ``stream2gym.faults``, ``stream2gym.engines``, ``stream2gym.stores``, ``stream2gym.monitors`` and
``stream2gym.metrics``. An entry point names a declaration (a ``Kind`` or a ``Metric``), or a class that has one. A
plug-in that cannot be used must not make ``validate`` fail, so the reason is kept. An experiment that names the
plug-in is refused with it; a monitor that cannot be used is an event of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Generic, Literal, Protocol, TypeVar

PlugInFamily = Literal["fault", "engine", "store", "monitor", "metric"]


class Declaration(Protocol):
    """What a plug-in says about itself before anything runs."""

    @property
    def name(self) -> str: ...


D = TypeVar("D", bound=Declaration)


@dataclass(frozen=True)
class PlugIns(Generic[D]):
    """The plug-ins of one family, each by its name."""

    declared: dict[str, D] = field(default_factory=dict)
    # What the entry point names: the declaration, or the class that has it.
    loaded: dict[str, Any] = field(default_factory=dict)
    # Why a plug-in cannot be used, by the name of its entry point.
    broken: dict[str, str] = field(default_factory=dict)
    # What a plug-in that is not used is called, by the name of the built-in one that it has, in lower case.
    shadowed: dict[str, str] = field(default_factory=dict)


def load_plug_ins(
    family: PlugInFamily, declaration_of: Callable[[Any], D | None], expected: str, built_in: Iterable[D]
) -> PlugIns[D]:
    """Load every plug-in of a family.

    ``declaration_of`` finds the declaration in what an entry point names, None where there is none; ``expected`` says
    what it looks for. The name of a built-in kind cannot be taken over. Two plug-ins with one name are both not used.
    """
    found: PlugIns[D] = PlugIns()
    own = {name: f"a built-in {family}" for one in built_in for name in _names(one)}
    owners = dict(own)
    for entry in entry_points(group=f"stream2gym.{family}s"):
        try:
            loaded = entry.load()
        except Exception as error:  # a plug-in may fail in any way
            found.broken[entry.name] = f"{type(error).__name__}: {error}"
            continue
        declared = declaration_of(loaded)
        if declared is None:
            found.broken[entry.name] = f"{entry.value} is no {expected}"
            continue
        if any(one is declared for one in found.declared.values()):
            continue  # a second entry point for the same plug-in, such as another name
        for name in _names(declared):
            if name in owners:
                found.broken[entry.name] = f"{entry.value} has the name {name!r}, which {owners[name]} has already"
                if name in own:
                    found.shadowed[name] = entry.value
                _disown(found, name, f"{entry.value} has the name {name!r}, too")
                break
        else:
            found.declared[declared.name] = declared
            found.loaded[declared.name] = loaded
            owners |= dict.fromkeys(_names(declared), entry.value)
    return found


def _names(declared: Declaration) -> list[str]:
    """Every name that people write for it, in lower case."""
    return [name.lower() for name in (declared.name, *getattr(declared, "also", ()))]


def _disown(found: PlugIns[D], name: str, reason: str) -> None:
    """Remove the plug-in that has this name, because another one has it, too."""
    for one in [one for one in found.declared.values() if name in _names(one)]:
        del found.declared[one.name]
        del found.loaded[one.name]
        found.broken[one.name] = reason
