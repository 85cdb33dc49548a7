"""The exercises in the READMEs of the examples: what to change, and what becomes of an expectation.

A fenced block of the kind ``exercise`` has a line for each step and each outcome:

    in FILE: OLD => NEW      a text of a file, replaced wherever it stands
    set KEY=VALUE            as ``--set`` takes it
    expect EXPECTATION       one more expectation
    fails EXPECTATION        the outcome: this expectation fails
    holds EXPECTATION        the outcome: this one still holds
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.examples import EXAMPLES, copy_example

_BLOCK = re.compile(r"^```exercise\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EDIT = re.compile(r"(\S+): (.+) => (.*)")


@dataclass
class Exercise:
    """One exercise of an example."""

    example: str
    number: int
    edits: dict[str, dict[str, str]] = field(default_factory=dict)
    overrides: dict[str, Any] = field(default_factory=dict)
    expect: list[str] = field(default_factory=list)
    fails: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"{self.example}-{self.number}"

    def prepare(self, folder: Path) -> tuple[Path, dict[str, Any]]:
        """A changed copy of the example's experiment, and the overrides to run it with."""
        path = copy_example(self.example, folder, self.edits) / "experiment.yaml"
        overrides = dict(self.overrides)
        if self.expect:
            overrides["expect"] = [*yaml.safe_load(path.read_text("utf-8"))["expect"], *self.expect]
        return path, overrides


def read_exercises() -> list[Exercise]:
    """Every exercise of every example."""
    return [
        _parse(readme.parent.name, number, block)
        for readme in sorted(EXAMPLES.glob("*/README.md"))
        for number, block in enumerate(_BLOCK.findall(readme.read_text("utf-8")), 1)
    ]


def _parse(example: str, number: int, block: str) -> Exercise:
    found = Exercise(example, number)
    for line in block.splitlines():
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        match word:
            case "in":
                edit = _EDIT.fullmatch(rest)
                assert edit is not None, f"{example}: not 'in FILE: OLD => NEW': {line}"
                found.edits.setdefault(edit[1], {})[edit[2]] = edit[3]
            case "set":
                key, _, value = rest.partition("=")
                found.overrides[key] = value
            case "expect" | "fails" | "holds":
                getattr(found, word).append(rest)
            case _:
                raise AssertionError(f"{example}: not a line of an exercise: {line}")
    return found
