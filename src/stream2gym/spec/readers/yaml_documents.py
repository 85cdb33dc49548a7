"""Reads YAML into plain data with line numbers. It works on parser events, without recursion and without objects.

Words are read as in YAML 1.2: only true and false are booleans, so that ``on:`` is a key like any other. Keys are
always text. Duplicate keys, keys that are not words, merge keys, aliases that expand to too much, deep nesting and
tags are refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.findings import DataPath, Origin, Origins, show_path

MOST_DEPTH = 40
MOST_NODES = 300_000
MOST_ALIASED = 20_000
LONGEST_SCALAR = 8192

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,300}|[0-9]{1,300}(\.[0-9]{0,300})?)([eE][-+]?[0-9]{1,9})?")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_TAGS = frozenset(("!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))))
_NULL = frozenset(("", "~", "null", "Null", "NULL"))


@dataclass
class Document:
    """One document: its data, and the origins of its values."""

    data: Any
    origins: Origins


@dataclass
class _Open:
    """A collection that is being read."""

    value: Any
    path: DataPath
    anchor: str | None
    nodes_before: int
    key: str | None = None
    key_line: int = 0
    skip: bool = False


@dataclass
class _Reader:
    """Reads the documents of one text, and counts its values."""

    shown: str
    mistakes: list[Mistake] = field(default_factory=list)
    nodes: int = 0
    aliased: int = 0

    def refuse(self, what: str, line: int, hint: str = "") -> BadInput:
        """The error for a text that cannot be read any further."""
        return BadInput([*self.mistakes, Mistake("", what, hint, file=self.shown, line=line)])

    def documents(self, text: str) -> list[Document]:
        """Every document of the text."""
        found: list[Document] = []
        for event in yaml.parse(text, Loader=_LOADER):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                document = Document(None, Origins({(): Origin(self.shown, line)}))
                stack: list[_Open] = []
                anchors: dict[str, tuple[Any, int] | None] = {}
                found.append(document)
            elif isinstance(event, yaml.NodeEvent):
                self.nodes += 1
                if self.nodes > MOST_NODES:
                    raise self.refuse(f"has more than {MOST_NODES} values", line)
                self._node(event, line, document, stack, anchors)
            elif isinstance(event, yaml.CollectionEndEvent):
                done = stack.pop()
                if done.anchor:
                    anchors[done.anchor] = (done.value, self.nodes - done.nodes_before)
        return found

    def _node(self, event: Any, line: int, document: Document, stack: list[_Open], anchors: dict[str, Any]) -> None:
        """Add a value or a key to the collection that is open."""
        top = stack[-1] if stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(event, line, top)
            return
        path: DataPath = ()
        if top is not None:
            path = (*top.path, len(top.value) if top.key is None else top.key)
            if not top.skip:
                document.origins.known[path] = Origin(self.shown, top.key_line if top.key is not None else line)
        value = self._value(event, line, stack, anchors, path)
        if top is None:
            document.data = value
        elif isinstance(top.value, dict):
            if not top.skip:
                top.value[top.key] = value
            top.key, top.skip = None, False
        else:
            top.value.append(value)

    def _key(self, event: Any, line: int, top: _Open) -> None:
        """Take the key of the next value."""
        if not isinstance(event, yaml.ScalarEvent):
            raise self.refuse("a key must be a word", line, "write 'key: value'")
        if len(event.value) > LONGEST_SCALAR:
            raise self.refuse(f"a key is longer than {LONGEST_SCALAR} characters", line)
        if event.value == "<<" and event.implicit[0]:
            raise self.refuse("merge keys (<<) are not read", line, "write the keys out")
        top.key, top.key_line = event.value, line
        if top.key in top.value:
            where = show_path((*top.path, top.key))
            self.mistakes.append(Mistake(where, "the key is given twice", "keep one", self.shown, line))
            top.skip = True

    def _value(self, event: Any, line: int, stack: list[_Open], anchors: dict[str, Any], path: DataPath) -> Any:
        """The value of an event: a scalar, a new collection, or what an alias refers to."""
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors or anchors[event.anchor] is None:
                raise self.refuse(f"the alias *{event.anchor} names nothing that was defined before it", line)
            value, size = anchors[event.anchor]
            self.aliased += size
            self.nodes += size
            if self.aliased > MOST_ALIASED:
                raise self.refuse("its aliases expand to too much", line, "write the values out")
            return value
        if event.tag is not None and event.tag not in _TAGS:
            raise self.refuse(f"the tag {event.tag!r} is not read", line, "write plain values")
        if isinstance(event, yaml.ScalarEvent):
            if len(event.value) > LONGEST_SCALAR:
                raise self.refuse(f"a value is longer than {LONGEST_SCALAR} characters", line)
            value = scalar(event.value) if event.implicit[0] else event.value
            if event.anchor:
                anchors[event.anchor] = (value, 1)
            return value
        if len(stack) >= MOST_DEPTH:
            raise self.refuse(f"is nested more than {MOST_DEPTH} deep", line)
        made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        if event.anchor:
            anchors[event.anchor] = None
        stack.append(_Open(made, path, event.anchor, self.nodes - 1))
        return made


def scalar(text: str) -> Any:
    """The value of a plain word: null, a boolean, a number, or the word itself."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def read_documents(text: str, shown: str) -> tuple[list[Document], list[Mistake]]:
    """Every document of the text, and the mistakes that did not prevent reading it."""
    reader = _Reader(shown)
    try:
        return reader.documents(text), reader.mistakes
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"not YAML: {error.problem or error.context or 'it cannot be read'}"
        hint = "indent with blanks" if "\\t" in what else ""
        raise BadInput(Mistake("", what, hint, file=shown, line=mark.line + 1 if mark else None)) from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or "it cannot be read"
        raise BadInput(Mistake("", f"not YAML: {reason}", file=shown)) from None


def read_value(text: str) -> Any:
    """One value from the command line. What is not YAML is text."""
    try:
        documents, mistakes = read_documents(text, "--set")
    except BadInput:
        return text
    return documents[0].data if len(documents) == 1 and not mistakes else text
