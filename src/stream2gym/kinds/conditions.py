"""Conditions that a fault waits for: ``10000 messages``, ``lag > 5000``, ``broker-h2 is controller``.

Numbers that can be asked while a run goes on: sent, acked, failed, received (of all clients together), lag.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

NUMBERS = ("sent", "acked", "failed", "received", "lag")
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip
_MESSAGES = re.compile(r"(\d+) messages?")
_COMPARED = re.compile(r"(\w+) *(<=|>=|==|!=|<|>) *([\d_.]+)")
_IS = re.compile(r"(\S+) is (not )?(controller|leader of \S+|coordinator of \S+)")


class Senses(Protocol):
    """What a condition can ask about the run; None where nobody knows yet."""

    def number(self, name: str) -> float | None: ...

    def who_is(self, role: str) -> str | None:
        """The component that has a role now."""


class Condition(Protocol):
    def holds(self, senses: Senses) -> bool: ...


@dataclass(frozen=True)
class Compared:
    """A number against a bound."""

    name: str
    sign: str
    bound: float

    def holds(self, senses: Senses) -> bool:
        value = senses.number(self.name)
        return value is not None and _OPERATORS[self.sign](value, self.bound)


@dataclass(frozen=True)
class Is:
    """Who has a role."""

    component: str
    role: str
    wanted: bool = True

    def holds(self, senses: Senses) -> bool:
        found = senses.who_is(self.role)
        return found is not None and (found == self.component) is self.wanted


def faults_waited_for(text: str) -> list[str]:
    """The names in ``fault NAME, NAME``; none for what is another condition."""
    return text.removeprefix("fault ").split(", ") if text.startswith("fault ") else []


def parse_condition(text: str) -> Condition | None:
    """The condition; None for ``fault NAME, ...``, which the timeline knows itself. ValueError says what is right."""
    if text.startswith("fault "):
        return None
    if found := _MESSAGES.fullmatch(text):
        return Compared("sent", ">=", float(found[1]))
    if (found := _COMPARED.fullmatch(text)) and found[1] in NUMBERS:
        return Compared(found[1], found[2], float(found[3]))
    if found := _IS.fullmatch(text):
        return Is(found[1], found[3], not found[2])
    raise ValueError(
        f"not a condition: {text!r}; write '{' or '.join(NUMBERS)} > 5000', or 'NAME is controller'"
    )
