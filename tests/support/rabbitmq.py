"""RabbitMQ for tests: installed, or unpacked into the cache; without it the tests that need it are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.errors import CannotHere
from stream2gym.software.rabbitmq_packages import ensure_rabbitmq
from stream2gym.software.rabbitmq_software import RabbitMqSoftware


def need_rabbitmq() -> RabbitMqSoftware:
    """RabbitMQ, unpacked if it is missing. Skips the test with the reason where it cannot be had."""
    try:
        return ensure_rabbitmq()
    except CannotHere as error:
        pytest.skip(f"no RabbitMQ: {error.what}")


def erlang_processes() -> set[int]:
    """The processes of Erlang on this machine: nodes, and the name service that outlives them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = stat.read_text().strip()
        except OSError:
            continue
        if name in ("beam.smp", "epmd"):
            found.add(int(stat.parent.name))
    return found
