"""Waits for an observed condition, with a deadline and a reason. The command sleeps nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from stream2gym.errors import StartFailed

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T | None],
    *,
    timeout_s: float,
    reason: str,
    every_s: float = 0.02,
    error: type[Exception] = StartFailed,
) -> T:
    """Return the first truthy value of ``condition``. At the deadline, raise ``error`` with the reason."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise error(f"waited {timeout_s:g} s for {reason}")
        time.sleep(every_s)
