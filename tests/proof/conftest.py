"""The table of the proof stands at the end of the tests' output, with what was measured."""

from __future__ import annotations

import pytest

from tests.proof.case import Outcome
from tests.proof.table import table

OUTCOMES = pytest.StashKey[list[Outcome]]()


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> list[Outcome]:
    """Every case that was carried out so far."""
    return request.config.stash.setdefault(OUTCOMES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    done = config.stash.get(OUTCOMES, [])
    if done:
        terminalreporter.section("what faults did to messages")
        terminalreporter.write_line(table(done))
