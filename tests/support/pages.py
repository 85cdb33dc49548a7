"""A page of the docs as steps that a test takes one by one: commands, additions to a file, what must be shown.

A fenced block of the kind ``sh`` holds commands (``s2g ...  # exit code 1``, else 0), one of the kind ``yaml`` text
that is added to the experiment, one of the kind ``text`` lines that the commands before it have shown; numbers may
differ.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"exit code (\d+)")


@dataclass(frozen=True)
class Command:
    """A command of the page, without ``s2g``, and how it should end."""

    words: tuple[str, ...]
    exit_code: int


@dataclass(frozen=True)
class Addition:
    """Text that the reader adds to the experiment."""

    text: str


@dataclass(frozen=True)
class Shown:
    """Lines that the commands since the last such block have shown."""

    lines: tuple[str, ...]

    def missing_from(self, output: str) -> list[str]:
        """The lines that are not there, whatever their spaces and numbers are."""
        plain = " ".join(output.split())
        return [line for line in self.lines if not re.search(_pattern(line), plain)]


Step = Command | Addition | Shown


def read_steps(page: str) -> Iterator[Step]:
    """The steps of a page of the docs, in order."""
    for kind, text in _BLOCK.findall((DOCS / page).read_text("utf-8")):
        if kind == "yaml":
            yield Addition(text)
        elif kind == "text":
            yield Shown(tuple(text.splitlines()))
        elif kind == "sh":
            for line in text.splitlines():
                words = shlex.split(line, comments=True)
                told = _EXIT.search(line)
                if words:
                    assert words[0] == "s2g", line
                    yield Command(tuple(words[1:]), int(told[1]) if told else 0)


def _pattern(line: str) -> str:
    return re.sub(r"\d+", lambda _: r"\d+", re.escape(" ".join(line.split())))
