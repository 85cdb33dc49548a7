"""Finds the class that runs a type of engine or store, and prepares the software that the classes need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, TypeVar

from stream2gym.errors import CannotHere
from stream2gym.kinds.registry import registry
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Engine, Store

C = TypeVar("C")


def find_class(family: Literal["engine", "store"], type_: str, base: type[C], built_in: Mapping[str, str]) -> type[C]:
    """The class that runs components of this type. ``built_in`` says ``MODULE:CLASS`` for each built-in kind.

    A module is imported when its kind is asked for, because most runs need one of them.
    """
    known = registry(family)
    kind = known.find(type_)
    if kind is not None and kind.name in built_in:
        module, _, name = built_in[kind.name].partition(":")
        found: type[C] = getattr(import_module(module), name)
        return found
    plugged = None if kind is None else known.plug_in_class(kind.name, base)
    if plugged is None:
        hint = f"name a class in an entry point of the group stream2gym.{family}s"
        raise CannotHere(
            f"nothing here runs {family}s of type {type_}", f"{hint}; known types: {', '.join(known.names())}"
        )
    return plugged


def prepare_software(
    parts: Sequence[Engine] | Sequence[Store], class_of: Callable[[str], Any], progress: Progress
) -> dict[str, Any]:
    """The software of every engine or store, by its name. Each class is asked once for all that it runs."""
    by_class: dict[Any, list[Engine | Store]] = {}
    for part in parts:
        by_class.setdefault(class_of(part.type), []).append(part)
    return {
        str(part.name): software
        for cls, own in by_class.items()
        for software in [cls.prepare(own, progress)]
        for part in own
    }
