"""One Spark session for all tests of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stream2gym.analysis.background_session import BackgroundSession


@pytest.fixture(scope="package")
def session() -> Iterator[Any]:
    with BackgroundSession() as early:
        yield early.session()
