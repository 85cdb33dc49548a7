"""The table of the proof stands at the end of the tests' output, with what was measured."""

from __future__ import annotations

import pytest

from tests.proof.table import Row, table

ROWS = pytest.StashKey[list[Row]]()


@pytest.fixture
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """Every case that was carried out so far."""
    return request.config.stash.setdefault(ROWS, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    done = config.stash.get(ROWS, [])
    if done:
        terminalreporter.section("what faults did to messages")
        terminalreporter.write_line(table(done))
