"""Conditions that a fault waits for: ``10000 messages``, ``lag > 5000``, ``broker-h2 is controller``.

A condition compares a number of the run with a bound, or asks who has a role. The numbers are counts of messages over
all clients (sent, ``acked``, failed, received) and the lag. ``acknowledged`` is another word for ``acked``; plans
hold the latter.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

NUMBERS = ("sent", "acked", "failed", "received", "lag")
SYNONYMS = {"acknowledged": "acked"}
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip
_MESSAGES = re.compile(r"(\d+) messages?")
_COMPARISON = re.compile(r"(\w+)( *(?:<=|>=|==|!=|<|>) *)([\d_.]+)")
_ROLE = re.compile(r"(\S+) is (not )?(controller|leader of \S+|coordinator of \S+)")


class RunState(Protocol):
    """What a condition can ask about the run."""

    def number(self, name: str) -> float | None:
        """One of ``NUMBERS``; None while it is unknown."""

    def who_is(self, role: str) -> str | None:
        """The component that has a role now; None while it is unknown."""


class Condition(Protocol):
    """Something that holds or does not hold at a moment of the run."""

    def holds(self, state: RunState) -> bool: ...


@dataclass(frozen=True)
class NumberCondition:
    """A number compared with a bound. It does not hold while the number is unknown."""

    name: str
    sign: str
    bound: float

    def holds(self, state: RunState) -> bool:
        value = state.number(self.name)
        return value is not None and _OPERATORS[self.sign](value, self.bound)


@dataclass(frozen=True)
class RoleCondition:
    """Whether a component has a role, or has it not. It does not hold while nobody knows who has the role."""

    component: str
    role: str
    wanted: bool = True

    def holds(self, state: RunState) -> bool:
        found = state.who_is(self.role)
        return found is not None and (found == self.component) is self.wanted


def faults_waited_for(text: str) -> list[str]:
    """The names in ``fault NAME, NAME``; empty for any other condition."""
    return text.removeprefix("fault ").split(", ") if text.startswith("fault ") else []


def normalize_condition(text: str) -> str:
    """The condition as plans hold it: single blanks, and no synonyms."""
    words = " ".join(text.split())
    found = _COMPARISON.fullmatch(words)
    return f"{SYNONYMS[found[1]]}{found[2]}{found[3]}" if found and found[1] in SYNONYMS else words


def parse_condition(text: str) -> Condition | None:
    """Read a condition. Returns None for ``fault NAME, ...``, which the timeline of faults decides itself.

    A ValueError says what would be right.
    """
    words = normalize_condition(text)
    if words.startswith("fault "):
        return None
    if found := _MESSAGES.fullmatch(words):
        return NumberCondition("sent", ">=", float(found[1]))
    if (found := _COMPARISON.fullmatch(words)) and found[1] in NUMBERS:
        return NumberCondition(found[1], found[2].strip(), float(found[3]))
    if found := _ROLE.fullmatch(words):
        return RoleCondition(found[1], found[3], not found[2])
    raise ValueError(f"not a condition: {text!r}; write '{' or '.join(NUMBERS)} > 5000', or 'NAME is controller'")
