"""What programs do about SIGHUP: they inherit it, and whoever runs the tests may ignore it (nohup)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hangups(action: signal.Handlers) -> Iterator[None]:
    """Programs that are started in this block inherit ``action``: SIG_DFL or SIG_IGN."""
    before = signal.signal(signal.SIGHUP, action)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
