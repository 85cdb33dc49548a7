"""How long the threads of a program have waited for a CPU, as the scheduler counts it (/proc/PID/task/TID/schedstat).

The files of all threads stay open, because to read an open one costs a tenth of opening it: 20 brokers with 60
threads each take 2 to 3 ms a look, twice a second. When no descriptor is left, a file is opened for every look.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

# The index of the nanoseconds in which the thread could have run and did not.
_WAITED = 1


@dataclass
class _Thread:
    path: str
    fd: int | None


@dataclass
class _Account:
    """The threads of one program, and the waits of threads that have ended."""

    threads: dict[tuple[int, str], _Thread] = field(default_factory=dict)
    # What each thread had waited when it was last read. A thread that cannot be read once is not counted from its
    # beginning again.
    last_ns: dict[tuple[int, str], int] = field(default_factory=dict)
    total_ns: int = 0


class RunQueueWaits:
    """The sum of the waits of each program. It only grows, also when threads end."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._accounts: dict[int, _Account] = {}

    def waited_s(self, program: int, pids: Iterable[int]) -> float | None:
        """Seconds that the threads of these processes have waited so far; None if the kernel does not count them."""
        account = self._accounts.setdefault(program, _Account())
        alive = set()
        listed = set()
        for pid in pids:
            with contextlib.suppress(OSError):
                alive |= {(pid, tid) for tid in os.listdir(f"{self._proc}/{pid}/task")}
                listed.add(pid)
        for gone in account.threads.keys() - alive:
            self._close(account.threads.pop(gone))
            # A thread that is missing in a readable list has ended, and its number may be used again.
            if gone[0] in listed:
                account.last_ns.pop(gone, None)
        told = False
        for key in alive:
            thread = account.threads.get(key)
            if thread is None:
                thread = account.threads[key] = self._open(*key)
            waited_ns = _read_wait(thread)
            if waited_ns is None:
                self._close(account.threads.pop(key))
                continue
            told = True
            account.total_ns += max(0, waited_ns - account.last_ns.get(key, 0))
            account.last_ns[key] = waited_ns
        return account.total_ns / 1e9 if told or account.total_ns else None

    def keep(self, programs: Iterable[int]) -> None:
        """Forget all programs except these."""
        for program in self._accounts.keys() - set(programs):
            for thread in self._accounts.pop(program).threads.values():
                self._close(thread)

    def _open(self, pid: int, tid: str) -> _Thread:
        path = f"{self._proc}/{pid}/task/{tid}/schedstat"
        try:
            return _Thread(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return _Thread(path, None)

    def _close(self, thread: _Thread) -> None:
        if thread.fd is not None:
            os.close(thread.fd)


def _read_wait(thread: _Thread) -> int | None:
    try:
        if thread.fd is not None:
            text = os.pread(thread.fd, 128, 0)
        else:
            with open(thread.path, "rb") as file:
                text = file.read(128)
        return int(text.split()[_WAITED])
    except (OSError, ValueError, IndexError):
        return None
