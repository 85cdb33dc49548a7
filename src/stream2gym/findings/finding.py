"""A finding is a sentence about a run. Its phrases that state a number name the part of the report that proves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any

from stream2gym.figures.number_text import format_digits, show
from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class Phrase(Jsonable):
    """A part of a sentence. ``evidence`` is the id of the part of the report that proves it; empty: none does."""

    text: str
    evidence: str = ""
    # Whether it is a name that the user gave. A sentence that begins with one leaves its first letter alone.
    is_name: bool = False


@dataclass(frozen=True)
class Finding(Jsonable):
    """One sentence about a run."""

    phrases: tuple[Phrase, ...]

    @property
    def text(self) -> str:
        return "".join(phrase.text for phrase in self.phrases)

    def describe(self) -> dict[str, Any]:
        """The sentence, and what its numbers rest on, for programs."""
        cited = [{"text": one.text, "in": one.evidence} for one in self.phrases if one.evidence]
        return {"text": self.text, "evidence": cited}


Words = tuple[Phrase, ...]  # a part of a sentence that may cite evidence


def compose(template: str, /, **parts: str | Phrase | Words) -> Words:
    """Put parts into the ``{places}`` of a template. Braces inside a part stay as they are."""
    found: list[Phrase] = []
    for words, name, _, _ in Formatter().parse(template):
        if words:
            found.append(Phrase(words))
        if name is not None:
            part = parts[name]
            found += [Phrase(part)] if isinstance(part, str) else [part] if isinstance(part, Phrase) else part
    return tuple(found)


def make_sentence(words: Words) -> Finding:
    """A sentence of the words: with a capital in front, unless a name stands there, and with a full stop."""
    first, *rest = words
    if not first.is_name:
        first = replace(first, text=first.text[:1].upper() + first.text[1:])
    has_end = words[-1].text.endswith((".", "?", "!"))
    return Finding((first, *rest) if has_end else (first, *rest, Phrase(".")))


def name(text: str) -> Phrase:
    return Phrase(text, is_name=True)


def names(texts: Sequence[str], most: int = 3) -> Phrase:
    """Names with commas and *and* between them. Of many the first ones are listed and the others counted."""
    found = list(texts)
    if len(found) > most:
        found = [*found[: most - 1], f"{len(found) - most + 1} more"]
    joined = found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"
    return name(joined)


def join_words(parts: Sequence[Words], between: str, last: str | None = None) -> Words:
    """Parts of a sentence one after the other, with a text between them and perhaps another one before the last."""
    joined: list[Phrase] = []
    for number, part in enumerate(parts):
        if number:
            is_last = number == len(parts) - 1
            joined.append(Phrase(last if last is not None and is_last else between))
        joined += part
    return tuple(joined)


def count(number: float, evidence: str) -> Phrase:
    return Phrase(f"{int(number):,}", evidence)


def span(seconds: float | None, evidence: str, *, at_least: bool = False) -> Phrase:
    """A length of time, with three digits."""
    text = show(seconds, "s")
    return Phrase(f"at least {text}" if at_least else text, evidence)


def moment(seconds: float, evidence: str) -> Phrase:
    """A time from the start of load, to a tenth of a second."""
    return Phrase(f"{format_digits(round(seconds, 1)) if abs(seconds) < 100 else round(seconds)} s", evidence)
