"""Making the start-up cache of the analysis by analysing a made-up run.

``make_start_cache`` is for ``setup``. A first run, which waits for its downloads anyway, has the cache made meanwhile
by a process of its own (``Rehearsal``, which runs ``python -m stream2gym.analysis.rehearsal``).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from stream2gym.analysis.analysis_start_cache import analysis_start_cache
from stream2gym.closing import ClosedOnExit
from stream2gym.errors import S2gError, StartFailed
from stream2gym.own_python import own_python
from stream2gym.software.cache import Cache
from stream2gym.software.child_process import Guarded, new_folder_name
from stream2gym.software.fetch import Progress, silent
from stream2gym.software.java import find_java
from stream2gym.wait import wait_until

# The longest time that a run waits for a rehearsal.
REHEARSAL_S = 240.0


def make_start_cache(progress: Progress = silent, cache: Cache | None = None) -> Path | None:
    """Make the start-up cache of the analysis; None where this Java has none, or the rehearsal failed."""
    found = analysis_start_cache(find_java(), cache)
    found.forget_failure()
    return found.ensure(_rehearse, progress)


def _rehearse(folder: Path, flags: list[str]) -> str:
    from stream2gym.analysis.analyse import analyse
    from stream2gym.analysis.fake_run import rehearsal
    from stream2gym.analysis.session import open_session

    run = rehearsal().write(folder / "run")
    with open_session(options=tuple(flags)) as session:
        analyse(run, session=session)
    return ""


class Rehearsal(ClosedOnExit):
    """A process that makes the start-up cache in the background. It ends with the block, whether it is done or
    not."""

    def __init__(self) -> None:
        self._process: Guarded | None = None

    def start(self) -> None:
        """Start the process, if there is a cache to make. On a machine where it cannot start, nothing happens."""
        if not analysis_start_cache(find_java()).can_be_made():
            return
        with contextlib.suppress(OSError, S2gError):
            argv = own_python("-m", "stream2gym.analysis.rehearsal")
            self._process = Guarded(argv, new_folder_name("s2g-rehearsal"))

    def wait(self, progress: Progress) -> None:
        """Wait until the cache is made, but not too long, because an analysis works without it."""
        process = self._process
        if process is None:
            return

        def over() -> bool:
            progress("making the start-up cache of the analysis (once)", 0, 0)
            return process.poll() is not None

        with contextlib.suppress(_TooLong):
            wait_until(over, timeout_s=REHEARSAL_S, reason="the rehearsal", every_s=0.1, error=_TooLong)
        self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


class _TooLong(StartFailed):
    pass


if __name__ == "__main__":
    make_start_cache()
