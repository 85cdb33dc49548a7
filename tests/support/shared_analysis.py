"""One JVM for the analyses of all runs that a worker of pytest makes, but for those of ``OWN_JVM``.

It starts before the first test that may use it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stream2gym.analysis.shared_jvm import VARIABLE
from stream2gym.wait import wait_until

SUITES = {"system", "proof", "witness", "oracle"}
# What these test is how a run or its analysis starts, what it takes, and what is left of it when it is ended.
OWN_JVM = {
    "test_analysis_cluster", "test_analysis_session", "test_beside_a_hog", "test_interrupts", "test_kill",
    "test_kill_run", "test_run_hello", "test_sweep_cluster",
}  # fmt: skip
TESTS = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 120.0


class SharedJvm:
    """A process of ``stream2gym.analysis.serve_shared_jvm``, started when its file is asked for."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def file(self) -> Path:
        """The file that tells commands where the JVM listens."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="s2g-shared-"))
            command = [sys.executable, "-I", "-m", "stream2gym.analysis.serve_shared_jvm"]
            self._process = subprocess.Popen([*command, str(self._folder / "jvm.json")], stdin=subprocess.PIPE)
        file = self._folder / "jvm.json"
        wait_until(file.exists, timeout_s=START_TIMEOUT_S, reason="the JVM that analyses share")
        return file

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder)


SHARED = pytest.StashKey[SharedJvm]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Name the shared JVM in the environment of tests that may use it, before their fixtures are made."""
    if may_share(item):
        os.environ[VARIABLE] = str(item.config.stash.setdefault(SHARED, SharedJvm()).file())
    else:
        os.environ.pop(VARIABLE, None)


def may_share(item: pytest.Item) -> bool:
    suite = item.path.relative_to(TESTS).parts[0]
    return suite in SUITES and item.path.stem not in OWN_JVM


def pytest_unconfigure(config: pytest.Config) -> None:
    os.environ.pop(VARIABLE, None)
    if (shared := config.stash.get(SHARED, None)) is not None:
        shared.close()
