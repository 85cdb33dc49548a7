"""What every fabric passes: the suite knows plans, programs on hosts and the ``Fabric`` protocol, nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from stream2gym.fabric.userspace import devices
from tests.support.network import Ends, Lab, assert_counters_add_up, network

Build = Callable[..., Lab]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "every_device: depends on the device, so runs over each kind there is")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "lab" in metafunc.fixturenames:
        kinds = [*dict.fromkeys((devices.choose_device(), "veth"))]
        every = metafunc.definition.get_closest_marker("every_device") is not None
        metafunc.parametrize("lab", kinds if every else kinds[:1], indirect=True)


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Build]:
    """Builds networks; at the end of each test its counters have to add up and no drop was unasked for."""
    with contextlib.ExitStack() as stack:
        built: list[Lab] = []

        def build(links: Mapping[str, Ends], *, offload: bool = True, **options: Any) -> Lab:
            built.append(stack.enter_context(Lab(network(links, **options), device=request.param, offload=offload)))
            return built[-1]

        yield build
        for one in built:
            stats = one.fabric.stats()
            assert_counters_add_up(stats)
            assert stats.unasked_drops == {}
