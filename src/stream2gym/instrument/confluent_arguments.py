"""How programs call confluent-kafka: arguments, settings and errors, as producers and consumers share them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LIBRARY = "confluent-kafka"


def disguise(ours: type, theirs: type) -> type:
    """Give a class of ours the name, module and description of the one that it stands for."""
    ours.__name__, ours.__qualname__ = theirs.__name__, theirs.__qualname__
    ours.__module__, ours.__doc__ = theirs.__module__, theirs.__doc__
    return ours


def name_arguments(names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name. Raises TypeError where the library would refuse them."""
    if len(args) > len(names) or not kwargs.keys().isdisjoint(names[: len(args)]):
        raise TypeError("arguments that the library refuses")
    return {**dict(zip(names, args)), **kwargs}


def read_config(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a client, given as a dictionary, by name, or both."""
    given = args[0] if args and isinstance(args[0], dict) else {}
    return {**given, **kwargs}


def error_text(error: Any) -> str:
    """The words of an error of the library, as our own clients record it."""
    cause = error.args[0] if isinstance(error, Exception) and error.args else error
    if hasattr(cause, "name") and hasattr(cause, "str"):
        return f"{cause.name()}: {cause.str()}"
    return f"{type(error).__name__}: {error}"
