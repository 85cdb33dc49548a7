"""HTML and SVG as a type of their own, so that no text gets into them unescaped.

``element`` makes markup: it escapes every text and every attribute value that it is given. ``trust`` makes markup
of a constant of this program, such as a style sheet. A ``Markup`` is no ``str``: the type checker refuses a text
where markup is expected, and a text that is put into an element is escaped, even when it looks like markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Markup:
    """A piece of HTML or SVG in which every text from outside is escaped. Made by the functions of this module."""

    source: str

    def __add__(self, other: Markup) -> Markup:
        return Markup(self.source + other.source)


EMPTY = Markup("")


def trust(constant: str) -> Markup:
    """Markup that stands in this program as it is. Nothing from a run or from a user's file may be in it."""
    return Markup(constant)


def element(tag: str, /, *inside: str | Markup, **attributes: str) -> Markup:
    """An element with a start and an end tag. Texts inside it are escaped. ``empty_element`` tells of attributes."""
    content = "".join(part.source if isinstance(part, Markup) else escape(part) for part in inside)
    return Markup(f"<{tag}{_attributes(attributes)}>{content}</{tag}>")


def empty_element(tag: str, /, **attributes: str) -> Markup:
    """An element without an end tag: any shape of SVG, and the void elements of HTML.

    Attribute values are escaped. An attribute with an empty value is left out. ``class_`` names the attribute
    ``class``, and ``aria_label`` the attribute ``aria-label``.
    """
    return Markup(f"<{tag}{_attributes(attributes)}/>")


def join(parts: Iterable[Markup], between: str = "") -> Markup:
    """The parts one after another, with a text between them."""
    return Markup(escape(between).join(part.source for part in parts))


def escape(text: str) -> str:
    """The text as it may stand inside elements and inside quoted attributes; without characters that XML forbids."""
    allowed = _FORBIDDEN.sub("\ufffd", text)
    return allowed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _attributes(values: dict[str, str]) -> str:
    return "".join(f' {_attribute_name(name)}="{escape(value)}"' for name, value in values.items() if value)


@cache
def _attribute_name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")
