"""A cluster of librdkafka's own for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.recorded import mock_kafka


@pytest.fixture(scope="session")
def mock() -> Iterator[str]:
    with mock_kafka() as address:
        yield address
