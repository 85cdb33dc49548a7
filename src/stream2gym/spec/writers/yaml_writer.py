"""Writes plain data as YAML for people: short values on one line, one item of a list a line.

Readers of YAML 1.1 and 1.2 read the same values from it; for keys, ``quote_yes_no_keys`` makes that so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from stream2gym.spec.readers.yaml_documents import scalar

WIDTH = 110
_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./%+()=<>*$-]*( [A-Za-z0-9_./%+()=<>*$-]+)*")
# Words that are booleans in YAML 1.1. PyYAML does not treat y and n as such.
_YES_NO = frozenset(("y", "n", "yes", "no", "on", "off"))
_YAML_1_1: Any = yaml.resolver.Resolver()
_STRING_TAG = "tag:yaml.org,2002:str"
# Lists that stay on one line even if their items have keys.
_INLINE = frozenset(("hosts",))
_BLANK_BEFORE = frozenset(("topology", "brokers", "time", "faults", "expect"))


def write_yaml(data: dict[str, Any], *, quote_yes_no_keys: bool = False) -> str:
    """The data as a YAML document.

    ``quote_yes_no_keys`` quotes keys that YAML 1.1 reads as booleans, such as ``on``.
    """
    writer = _Writer(quote_yes_no_keys)
    lines: list[str] = []
    for key, value in data.items():
        if key in _BLANK_BEFORE and lines:
            lines.append("")
        lines += writer.entry(key, value, "")
    return "\n".join(lines) + "\n"


def write_on_one_line(value: Any) -> str:
    """The value in YAML's flow style."""
    return _Writer().flow(value)


@dataclass(frozen=True)
class _Writer:
    """Writes values, entries and items as lines."""

    quote_yes_no_keys: bool = False

    def flow(self, value: Any) -> str:
        """The value on one line."""
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.key(key)}: {self.flow(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(self.flow, value)) + "]"
        return _scalar(value)

    def entry(self, key: str, value: Any, indent: str) -> list[str]:
        """The lines of one key and its value."""
        head = f"{indent}{self.key(key)}:"
        one_line = f"{head} {self.flow(value)}"
        if not isinstance(value, dict | list) or not value:
            return [one_line]
        rows = isinstance(value, list) and key not in _INLINE and not all(map(_is_word, value))
        rows = rows and (len(value) > 1 or indent == "")
        nested = isinstance(value, dict) and any(isinstance(item, dict | list) and item for item in value.values())
        if len(one_line) <= WIDTH and not rows and not (nested and indent == ""):
            return [one_line]
        if isinstance(value, dict):
            return [head, *(line for name, item in value.items() for line in self.entry(name, item, indent + "  "))]
        if all(map(_is_word, value)):
            return self.wrapped(head, value, indent)
        return [head, *(line for item in value for line in self.item(item, indent + "  "))]

    def item(self, value: Any, indent: str) -> list[str]:
        """The lines of one item of a list."""
        one_line = f"{indent}- {self.flow(value)}"
        if len(one_line) <= WIDTH or not isinstance(value, dict) or not value:
            return [one_line]
        lines = [line for name, item in value.items() for line in self.entry(name, item, indent + "  ")]
        return [f"{indent}- {lines[0].lstrip()}", *lines[1:]]

    def wrapped(self, head: str, words: list[Any], indent: str) -> list[str]:
        """A list of words over as many lines as it needs."""
        lines, line = [], f"{head} ["
        for number, word in enumerate(words):
            text = self.flow(word) + ("]" if number == len(words) - 1 else ",")
            if len(line) + len(text) + 1 > WIDTH:
                lines.append(line.rstrip())
                line = indent + "  "
            line += text + " "
        return [*lines, line.rstrip()]

    def key(self, key: str) -> str:
        """The key, quoted where needed."""
        plain = _PLAIN.fullmatch(key) and " " not in key and key != "<<"
        return key if plain and not (self.quote_yes_no_keys and _is_ambiguous(key)) else _quoted(key)


def _is_word(value: Any) -> bool:
    return not isinstance(value, dict | list) and len(str(value)) < 40 and " " not in str(value)


def _is_ambiguous(text: str) -> bool:
    """Whether readers of YAML 1.1 take the bare text for something other than text, such as a boolean or a date."""
    tag = _YAML_1_1.resolve(yaml.ScalarNode, text, (True, False))
    return text.lower() in _YES_NO or tag != _STRING_TAG


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and not isinstance(value, str):
        mantissa, exponent, power = repr(value).partition("e")
        # In YAML 1.1 a number with an exponent and no decimal point is text.
        return mantissa + (".0" if exponent and "." not in mantissa else "") + exponent + power
    text = str(value)
    plain = _PLAIN.fullmatch(text) and isinstance(scalar(text), str) and not _is_ambiguous(text)
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"' + "".join(sign if sign == " " or sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped) + '"'
    )
