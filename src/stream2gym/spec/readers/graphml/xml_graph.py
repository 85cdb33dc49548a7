"""Reads the XML of GraphML into nodes, edges and their data, with line numbers. It knows nothing of streaming.

The parser is expat without document type definitions: entities can neither be declared nor fetched. Keys may stand
anywhere, be undeclared or lack a type. Elements that the published format does not use become warnings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from stream2gym.errors import BadInput, Mistake

MOST_DEPTH = 100
_IGNORED = frozenset(("desc", "locator"))


@dataclass(frozen=True)
class Datum:
    """The text of one data element."""

    key: str
    text: str
    line: int


@dataclass
class Element:
    """A graph, node or edge."""

    kind: str
    line: int
    attributes: dict[str, str]
    data: list[Datum] = field(default_factory=list)


@dataclass
class XmlGraph:
    """The contents of a GraphML file."""

    graph: Element | None = None
    nodes: list[Element] = field(default_factory=list)
    edges: list[Element] = field(default_factory=list)
    # For each key id: its attr.name.
    names: dict[str, str | None] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)


class _Handler:
    """Handles the events of the XML parser."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.found = XmlGraph()
        self.stack: list[tuple[str, Element | None]] = []
        self.text: list[str] = []
        self.datum: tuple[str, int] | None = None
        self.unused: set[str] = set()
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.EntityDeclHandler = self.entity
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def refuse(self, what: str, hint: str = "") -> BadInput:
        """The error for a file that cannot be read any further."""
        return BadInput([*self.found.mistakes, Mistake("", what, hint, self.shown, self.line)])

    def mistake(self, where: str, what: str, hint: str = "") -> None:
        """Add a mistake at the current line."""
        self.found.mistakes.append(Mistake(where, what, hint, self.shown, self.line))

    def doctype(self, *_: Any) -> None:
        raise self.refuse("has a document type definition, which is never read", "remove the <!DOCTYPE ...>")

    def entity(self, *_: Any) -> None:
        raise self.refuse("declares an entity, which is never read", "remove it")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        attributes = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        if len(self.stack) >= MOST_DEPTH:
            raise self.refuse(f"is nested more than {MOST_DEPTH} deep")
        above = self.stack[-1][1] if self.stack else None
        if not self.stack and tag != "graphml":
            raise self.refuse(f"begins with <{tag}>, not with <graphml>", "is it a GraphML file?")
        element = above
        if tag == "key":
            self.key(attributes)
        elif tag == "graph":
            element = self.graph(attributes)
        elif tag in ("node", "edge"):
            element = self.part(tag, attributes)
        elif tag == "data":
            self.datum = (attributes.get("key", "").strip(), self.line)
            self.text = []
        elif tag not in ("graphml", *_IGNORED) and self.datum is None and tag not in self.unused:
            self.unused.add(tag)
            self.found.warnings.append(
                Mistake(f"<{tag}>", "is not part of the published format and ignored", "", self.shown, self.line)
            )
        self.stack.append((tag, element))

    def key(self, attributes: dict[str, str]) -> None:
        name = attributes.get("id", "").strip()
        if name:
            self.found.names[name] = attributes.get("attr.name", "").strip() or None

    def graph(self, attributes: dict[str, str]) -> Element:
        element = Element("graph", self.line, attributes)
        if self.found.graph is not None:
            self.mistake("graph", "there is more than one graph", "keep one")
        else:
            self.found.graph = element
        return element

    def part(self, tag: str, attributes: dict[str, str]) -> Element:
        element = Element(tag, self.line, {key: value.strip() for key, value in attributes.items()})
        (self.found.nodes if tag == "node" else self.found.edges).append(element)
        return element

    def characters(self, text: str) -> None:
        if self.datum is not None:
            self.text.append(text)

    def end(self, name: str) -> None:
        tag, element = self.stack.pop()
        if tag == "data" and self.datum is not None:
            key, line = self.datum
            self.datum = None
            if not key:
                self.mistake("data", "names no key", 'write <data key="...">')
            elif element is not None:
                element.data.append(Datum(key, "".join(self.text).strip(), line))


def read_graph(data: bytes, shown: str) -> XmlGraph:
    """Parse the bytes of the file. BadInput says where the XML is wrong."""
    handler = _Handler(shown)
    try:
        handler.parser.Parse(data.lstrip(b" \t\r\n"), True)
    except expat.ExpatError as error:
        what = f"not XML: {expat.ErrorString(error.code)}"
        raise BadInput([*handler.found.mistakes, Mistake("", what, "", shown, error.lineno)]) from None
    except (ValueError, LookupError) as error:
        raise BadInput(Mistake("", f"not XML that can be read: {error}", "save it as UTF-8", shown)) from None
    if handler.found.graph is None:
        raise handler.refuse("has no <graph>")
    return handler.found
