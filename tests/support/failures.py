"""The option ``--failures FILE``: pytest writes down which tests failed, in a form that it takes as arguments."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures", metavar="FILE", help="write the tests that failed to this file, one a line")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down which tests failed. Only the process that reports knows them, not the workers beside it."""
    file = session.config.getoption("--failures")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if file is None or reporter is None or hasattr(session.config, "workerinput"):
        return
    reports = [*reporter.stats.get("failed", []), *reporter.stats.get("error", [])]
    failed = {report.nodeid for report in reports}
    Path(file).write_text("".join(f"{test}\n" for test in sorted(failed)), "utf-8")
