"""Chromium for tests of pages. Where it is missing, those tests are skipped and named at the end; in CI they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "no Chromium on this machine"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A headless Chromium of this machine."""
    if CHROMIUM is None:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(f"{MISSING}, but CI requires these tests: apt install chromium")
        pytest.skip(MISSING)
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that were skipped because there is no Chromium."""
    skipped = sorted(
        report.nodeid
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and MISSING in report.longrepr[2]
    )
    if skipped:
        terminalreporter.section(f"not tested: {MISSING}")
        for name in skipped:
            terminalreporter.line(name)
