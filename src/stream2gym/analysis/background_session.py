"""A Spark session that starts in the background, so that a run need not wait for it.

A run starts it when its load is over. ``start`` returns at once, ``session`` waits for the session.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from stream2gym.analysis.session import open_session
from stream2gym.closing import ClosedOnExit
from stream2gym.errors import StartFailed
from stream2gym.software.child_process import Guarded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPEN_TIMEOUT_S = 180.0
GIVE_UP_S = 5.0  # how long a session that is being opened may take to notice that its JVM was killed


class BackgroundSession(ClosedOnExit):
    """A handle on a Spark session that is being opened. The session, or the attempt to open it, ends with the
    block."""

    def __init__(self, master: str | None = None) -> None:
        self._master = master
        self._undo = ExitStack()
        self._jvm: Guarded | None = None
        self._is_over = False
        self._thread: threading.Thread | None = None
        self._session: SparkSession | None = None
        self._problem: Exception | None = None

    def start(self, rows: int = 0) -> None:
        """Begin to open the session, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._open, args=(rows,), name="s2g-spark", daemon=True)
            self._thread.start()

    def session(self, rows: int = 0) -> SparkSession:
        """Wait for the session. It is opened now if ``start`` was not called."""
        self.start(rows)
        if self._thread is not None:
            self._thread.join(OPEN_TIMEOUT_S)
            if self._thread.is_alive():
                raise StartFailed(f"waited {OPEN_TIMEOUT_S:g} s for a Spark session")
        if self._session is None:
            raise self._problem or RuntimeError("the session was not opened")
        return self._session

    def _open(self, rows: int) -> None:
        try:
            self._session = self._undo.enter_context(open_session(self._master, rows=rows, started=self._note))
        except Exception as error:  # raised in the thread that asks for the session
            self._problem = error

    def _note(self, jvm: Guarded) -> None:
        self._jvm = jvm
        if self._is_over:
            jvm.kill()

    def close(self) -> None:
        """End the session, or the attempt to open it. What does not end in time ends with this process."""
        self._is_over = True
        if self._thread is not None and self._thread.is_alive():
            if self._jvm is not None:
                self._jvm.kill()
            self._thread.join(GIVE_UP_S)
        if self._thread is None or not self._thread.is_alive():
            self._undo.close()
