"""Plain data as YAML that is a pleasure to read: short things on one line, one item of a list a line."""

from __future__ import annotations

import re
from typing import Any

from stream2gym.spec.yamldoc import scalar

WIDTH = 110
_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./%+()=<>*$-]*( [A-Za-z0-9_./%+()=<>*$-]+)*")
# Words that other readers of YAML (1.1) take for true and false.
_ELSEWHERE = frozenset(("y", "n", "yes", "no", "on", "off"))
_INLINE = frozenset(("hosts",))  # lists that read well on one line even with keys in them
_BLANK_BEFORE = frozenset(("topology", "brokers", "time", "faults", "expect"))


def write_yaml(data: dict[str, Any]) -> str:
    """The whole document."""
    lines: list[str] = []
    for key, value in data.items():
        if key in _BLANK_BEFORE and lines:
            lines.append("")
        lines += _entry(key, value, "")
    return "\n".join(lines) + "\n"


def flow(value: Any) -> str:
    """On one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _scalar(value)


def _entry(key: str, value: Any, indent: str) -> list[str]:
    head = f"{indent}{_key(key)}:"
    one_line = f"{head} {flow(value)}"
    if not isinstance(value, dict | list) or not value:
        return [one_line]
    rows = isinstance(value, list) and key not in _INLINE and not all(map(_is_word, value))
    rows = rows and (len(value) > 1 or indent == "")
    nested = isinstance(value, dict) and any(
        isinstance(item, dict | list) and item for item in value.values()
    )
    if len(one_line) <= WIDTH and not rows and not (nested and indent == ""):
        return [one_line]
    if isinstance(value, dict):
        return [head, *(line for name, item in value.items() for line in _entry(name, item, indent + "  "))]
    if all(map(_is_word, value)):
        return _wrapped(head, value, indent)
    return [head, *(line for item in value for line in _item(item, indent + "  "))]


def _item(value: Any, indent: str) -> list[str]:
    one_line = f"{indent}- {flow(value)}"
    if len(one_line) <= WIDTH or not isinstance(value, dict) or not value:
        return [one_line]
    lines = [line for name, item in value.items() for line in _entry(name, item, indent + "  ")]
    return [f"{indent}- {lines[0].lstrip()}", *lines[1:]]


def _wrapped(head: str, words: list[Any], indent: str) -> list[str]:
    """A long list of words over several lines."""
    lines, line = [], f"{head} ["
    for number, word in enumerate(words):
        text = flow(word) + ("]" if number == len(words) - 1 else ",")
        if len(line) + len(text) + 1 > WIDTH:
            lines.append(line.rstrip())
            line = indent + "  "
        line += text + " "
    return [*lines, line.rstrip()]


def _is_word(value: Any) -> bool:
    return not isinstance(value, dict | list) and len(str(value)) < 40 and " " not in str(value)


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) and " " not in key and key != "<<" else _quoted(key)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and not isinstance(value, str):
        return repr(value)
    text = str(value)
    plain = _PLAIN.fullmatch(text) and isinstance(scalar(text), str) and text.lower() not in _ELSEWHERE
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"'
        + "".join(sign if sign == " " or sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped)
        + '"'
    )
