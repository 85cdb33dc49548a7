"""Plain dataclasses that walk into JSON and back, without pydantic: any process may import this."""

from __future__ import annotations

import math
import types
import typing
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Self, get_args, get_origin


class Jsonable:
    """Dataclasses that walk into JSON and back."""

    def to_json(self) -> dict[str, Any]:
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        hints = _hints(cls)  # type: ignore[arg-type]
        return cls(**{name: _typed(hints[name], value) for name, value in data.items() if name in hints})


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _plain(value: Any) -> Any:
    if isinstance(value, Jsonable):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no word for these; float() reads the text back.
        return str(value)
    return value


def _typed(hint: Any, value: Any) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if value is None:
        return None
    if origin in (typing.Union, types.UnionType):
        return _typed(next(arg for arg in args if arg is not type(None)), value)
    if origin is tuple:
        item = [args[0]] * len(value) if args[-1] is Ellipsis else args
        return tuple(_typed(kind, part) for kind, part in zip(item, value, strict=True))
    if origin is dict:
        return {key: _typed(args[1], part) for key, part in value.items()}
    if isinstance(hint, type) and is_dataclass(hint) and issubclass(hint, Jsonable):
        return hint.from_json(value)
    if hint is float and isinstance(value, str):
        return float(value)
    return value
