"""Drops of devices, read from files that stand for the kernel's counters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stream2gym.fabric.userspace.overflow import CAUSE, Overflows
from stream2gym.fabric.userspace.packet_engine import Port

HEADER = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop ...|bytes packets errs drop ...\n"
HOSTS = 100


class Counters:
    """A file for each host, with ``lo`` and one device."""

    def __init__(self, folder: Path) -> None:
        self._paths = {f"h{number}": folder / f"h{number}" for number in range(HOSTS)}
        for name in self._paths:
            self.drop(name, 0)
        self.fds = {name: os.open(path, os.O_RDONLY) for name, path in self._paths.items()}

    def drop(self, name: str, count: int) -> None:
        rows = f"    lo: 1 1 0 7 0 0 0 0 1 1 0 7 0 0 0 0\n  eth0: 9 9 9 9 9 9 9 9 1 2 0 {count} 0 0 0 0\n"
        self._paths[name].write_text(HEADER + rows)


@pytest.fixture
def counters(tmp_path: Path) -> Iterator[Counters]:
    made = Counters(tmp_path)
    yield made
    for fd in made.fds.values():
        os.close(fd)


@pytest.fixture
def ports() -> dict[str, Port]:
    return {f"h{number}": Port(f"h{number}", -1, 0) for number in range(HOSTS)}


@pytest.fixture
def overflows(counters: Counters, ports: dict[str, Port]) -> Callable[[], Overflows]:
    return lambda: Overflows("tun", ports.values(), counters.fds)


def test_a_device_that_may_have_been_full_is_read_at_the_next_look(
    counters: Counters, ports: dict[str, Port], overflows: Callable[[], Overflows]
) -> None:
    found = overflows()
    counters.drop("h99", 5)
    assert found.count() == {}
    ports["h99"].suspect = True
    assert found.count() == {CAUSE: 5}


def test_every_device_is_read_when_asked(counters: Counters, overflows: Callable[[], Overflows]) -> None:
    found = overflows()
    counters.drop("h50", 2)
    counters.drop("h99", 5)
    assert found.count(every_device=True) == {CAUSE: 7}


def test_looks_reach_every_device_in_turn(counters: Counters, overflows: Callable[[], Overflows]) -> None:
    found = overflows()
    for name in ("h0", "h50", "h99"):
        counters.drop(name, 1)
    for _ in range(HOSTS // 10):
        seen = found.count()
    assert seen == {CAUSE: 3}


def test_what_was_dropped_before_the_start_does_not_count(
    counters: Counters, overflows: Callable[[], Overflows]
) -> None:
    counters.drop("h1", 3)
    found = overflows()
    assert found.count(every_device=True) == {}
    counters.drop("h1", 4)
    assert found.count() == {CAUSE: 1}
