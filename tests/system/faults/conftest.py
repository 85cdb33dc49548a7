"""The network that the effects of faults are measured on: five hosts at one switch, and another switch behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.network import Lab, network
from tests.system.faults.scene import STAR, Scene


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(network(STAR)) as made:
        yield made


@pytest.fixture
def scene(lab: Lab) -> Iterator[Scene]:
    made = Scene(lab)
    yield made
    made.close()
