"""The one error tree: what went wrong, where, and what to do about it.

    S2gError                        every error that we raise on purpose; carries its exit code
    ├── BadInput            (2)     the user's files or arguments; holds all mistakes found at once
    ├── CannotHere          (4)     this machine or its permissions do not allow it; says the remedy
    ├── StartFailed         (3)     something real (broker, engine, fabric) did not come up
    ├── Defect              (3)     our own process died or broke a promise
    └── Interrupted       (130)     the user pressed Ctrl-C

An exit code of 1 belongs to verdicts, never to errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Mistake:
    """One thing wrong in the input: where it stands, what is wrong, what would be right."""

    where: str
    what: str
    hint: str = ""
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        prefix = ": ".join(part for part in (place, self.where) if part)
        text = f"{prefix}: {self.what}" if prefix else self.what
        return f"{text} ({self.hint})" if self.hint else text

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class S2gError(Exception):
    """Base of every error that we raise on purpose."""

    exit_code: ClassVar[int] = 3


class BadInput(S2gError):
    """The input has mistakes; all of them are reported at once."""

    exit_code = 2

    def __init__(self, mistakes: Sequence[Mistake] | Mistake | str) -> None:
        if isinstance(mistakes, str):
            mistakes = [Mistake(where="", what=mistakes)]
        elif isinstance(mistakes, Mistake):
            mistakes = [mistakes]
        self.mistakes: tuple[Mistake, ...] = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


class CannotHere(S2gError):
    """This machine cannot do it as it is set up; the message says what to change."""

    exit_code = 4

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{what}\n  what to do: {remedy}")


class StartFailed(S2gError):
    """Real software did not come up in time."""


class Defect(S2gError):
    """A part of stream2gym itself died or broke its promise."""


class Interrupted(S2gError):
    """The user asked us to stop."""

    exit_code = 130
