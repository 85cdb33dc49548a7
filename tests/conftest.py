"""Fixtures that several suites share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.users import User, myself, ordinary_user


@pytest.fixture(scope="session")
def users() -> Iterator[dict[str, User]]:
    """Root (or whoever runs the tests) and an ordinary user."""
    folder = Path(tempfile.mkdtemp(prefix="s2g-user-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield {"root": myself(), "ordinary": ordinary_user(folder)}
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["root", "ordinary"])
def user(request: pytest.FixtureRequest, users: dict[str, User]) -> User:
    """Each test once as root and once as an ordinary user."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("not root")
    return users[request.param]
