"""What the results of a run and of a sweep have in common: a folder, a state and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from stream2gym.errors import Interrupted
from stream2gym.judge.verdict import Outcome


class ResultFolder(Protocol):
    """The folder of a run or of a sweep."""

    @property
    def path(self) -> Path:
        """Where it is."""


class Judgement(Protocol):
    """The verdict on a run or on a sweep."""

    @property
    def outcome(self) -> Outcome:
        """pass, fail or unknown."""

    @property
    def words(self) -> str:
        """The outcome in one sentence."""

    @property
    def exit_code(self) -> int:
        """The exit code of a command that ends with this verdict."""


class JudgedResult:
    """Base of the results of runs and sweeps, which declare the types of these three."""

    folder: ResultFolder
    state: str
    judged: Judgement

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def verdict(self) -> str:
        """pass, fail or unknown."""
        return self.judged.outcome

    @property
    def passed(self) -> bool:
        """Whether the verdict is pass and nothing else went wrong. Unknown is no pass."""
        return self.verdict == "pass" and self.exit_code == 0

    @property
    def summary(self) -> str:
        """The outcome in a sentence: what was expected, and what was lost, unanswered or not observed."""
        return self.judged.words

    @property
    def exit_code(self) -> int:
        return Interrupted.exit_code if self.state == "interrupted" else self.judged.exit_code
