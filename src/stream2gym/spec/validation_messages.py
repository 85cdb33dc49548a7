"""Turns the errors of pydantic into findings with messages for the person who wrote the file."""

from __future__ import annotations

import re
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean, written_path

_WORD = re.compile(r"'([^']*)'|(-?\d+)")
_NAME_RULE = "letters, digits, '.', '_' and '-', beginning with a letter or a digit"
LONGEST_TEXT = 300
_KEYS = "a set of keys and values"
_EXPECTED = {
    "string_type": "a text", "int_type": "a whole number", "int_parsing": "a whole number",
    "int_from_float": "a whole number", "int_parsing_size": "a whole number of sane size",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number",
    "bool_type": "true or false", "bool_parsing": "true or false", "list_type": "a list", "tuple_type": "a list",
    "dict_type": _KEYS, "model_type": _KEYS, "model_attributes_type": _KEYS,
}  # fmt: skip


def findings_of(error: ValidationError, root: type[BaseModel], data: Any, above: DataPath = ()) -> list[Finding]:
    """One finding for each path with errors. ``above`` is the path of the validated data in the whole experiment."""
    groups: dict[tuple[DataPath, str], list[Any]] = {}
    for entry in error.errors(include_url=False):
        loc: DataPath = tuple(entry["loc"])
        path = written_path(loc, data)
        named = str(loc[-1]) if entry["type"] in ("missing", "extra_forbidden") and loc else ""
        groups.setdefault((path, named), []).append(entry)
    return [
        Finding((*above, *path), *_explain(entries, root, _value_at(data, path)))
        for (path, _), entries in groups.items()
    ]


def _explain(entries: list[Any], root: type[BaseModel], value: Any) -> tuple[str, str]:
    """What is wrong at one path and what would be right, from all errors of pydantic there."""
    if len(entries) > 1:
        return _several(entries, value)
    entry = entries[0]
    kind, loc, ctx = entry["type"], entry["loc"], entry.get("ctx") or {}
    if kind == "missing":
        return _missing(loc, root)
    if kind == "extra_forbidden":
        model = model_at(root, loc[:-1])
        keys: list[str] = getattr(model, "known_keys", list)()
        return f"unknown key {brief(loc[-1])}", did_you_mean(loc[-1], keys)
    if kind == "literal_error":
        words = [text or number for text, number in _WORD.findall(str(ctx.get("expected", "")))]
        choice = f"not one of {', '.join(words)}" if len(words) > 1 else f"not {words[0]}"
        return f"{brief(value)} is {choice}", _near(value, words)
    if kind == "value_error":
        what, _, hint = str(ctx.get("error", entry["msg"])).partition("; ")
        return _cut(what), _cut(hint)
    if kind == "string_pattern_mismatch":
        return f"{brief(value)} is not a name", _NAME_RULE
    if kind == "string_too_long":
        return f"is longer than {ctx.get('max_length')} characters", ""
    if kind in ("too_long", "too_short"):
        return (
            f"has {ctx.get('actual_length')} items instead of {ctx.get('max_length', ctx.get('min_length'))}",
            "",
        )
    bound = _bound(ctx)
    if bound:
        return f"{brief(value)} is out of range", bound
    return _wanted(_EXPECTED.get(kind, ""), value, str(entry["msg"]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."


def _several(entries: list[Any], value: Any) -> tuple[str, str]:
    """The message for a value that fits none of several forms."""
    forms: list[str] = []
    for entry in entries:
        expected = (entry.get("ctx") or {}).get("expected")
        forms.append(str(expected) if expected else _EXPECTED.get(entry["type"], ""))
    return _wanted(" or ".join(dict.fromkeys(filter(None, forms))), value, str(entries[0]["msg"]))


def _wanted(expected: str, value: Any, otherwise: str) -> tuple[str, str]:
    """The message for a value that is not what was expected."""
    if not expected:
        return otherwise, ""
    hint = ""
    if expected == "a text" and isinstance(value, int | float):
        hint = "put it in quotes"
    return f"{brief(value)} is not {expected}", hint


def _missing(loc: DataPath, root: type[BaseModel]) -> tuple[str, str]:
    """The message for a required key that is missing."""
    if loc and isinstance(loc[-1], int):
        return f"has only {loc[-1]} of the items it needs", ""
    model = model_at(root, loc[:-1])
    required = [
        field.alias or name for name, field in getattr(model, "model_fields", {}).items() if field.is_required()
    ]
    return f"{loc[-1] if loc else 'something'!s} is missing", f"needed here: {', '.join(required)}" * bool(required)


def _bound(ctx: dict[str, Any]) -> str:
    """The range of a number, in words."""
    words = {
        "ge": "at least",
        "gt": "more than",
        "le": "at most",
        "lt": "less than",
        "multiple_of": "a multiple of",
    }
    return ", ".join(f"{word} {ctx[key]}" for key, word in words.items() if key in ctx)


def _near(value: Any, words: list[str]) -> str:
    """A hint with the word that was probably meant; empty if none is similar."""
    hint = did_you_mean(value, words) if isinstance(value, str) else ""
    return hint if hint.startswith("did") else ""


def _value_at(data: Any, path: DataPath) -> Any:
    for step in path:
        data = data[step]
    return data


def model_at(root: type[BaseModel], loc: DataPath) -> type[BaseModel] | None:
    """The model at a path below ``root``; None if there is none or more than one."""
    here: Any = root
    for step in loc:
        if isinstance(step, int):
            continue
        if isinstance(here, type) and issubclass(here, BaseModel):
            fields = {field.alias or name: field for name, field in here.model_fields.items()}
            field = fields.get(str(step)) or here.model_fields.get(str(step))
            here = field.annotation if field else None
        here = _model_in(here) or here
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _model_in(annotation: Any) -> Any:
    """The model inside ``list[...]``, ``... | None`` or ``Annotated[...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in typing.get_args(annotation):
        found = _model_in(part)
        if found is not None:
            return found
    return None
