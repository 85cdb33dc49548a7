"""A Spark session that starts while something else goes on, so that nobody waits for it twice.

A run starts it when its load is over: ``start`` returns at once, ``session`` waits for it.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from stream2gym.analysis.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class EarlySession:
    """A handle on a session to come; ends the session with its block."""

    def __init__(self, master: str | None = None) -> None:
        self._master = master
        self._undo = ExitStack()
        self._thread: threading.Thread | None = None
        self._session: SparkSession | None = None
        self._problem: Exception | None = None

    def start(self, rows: int = 0) -> None:
        """Begin to open the session, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._open, args=(rows,), name="s2g-spark", daemon=True)
            self._thread.start()

    def session(self, rows: int = 0) -> SparkSession:
        """The session, waited for; opened now when nobody has begun."""
        self.start(rows)
        if self._thread is not None:
            self._thread.join()
        if self._session is None:
            raise self._problem or RuntimeError("the session was not opened")
        return self._session

    def _open(self, rows: int) -> None:
        try:
            self._session = self._undo.enter_context(open_session(self._master, rows=rows))
        except Exception as error:  # told to whoever asks for the session
            self._problem = error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.join()
        self._undo.close()
