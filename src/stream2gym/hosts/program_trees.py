"""The programs of the run with all their descendants, as the supervisor holds them.

A program is its main process and all descendants, including those that left its process group or session. SIGKILL,
SIGSTOP and SIGCONT reach all of them. Other signals reach the process group of the main process, as from a terminal.
When the main process ends, the rest is ended, too: at once after a failure, within ``LEFTOVER_S`` after an orderly
end. The program has ended when no process of it is left. Its exit code is that of the main process.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stream2gym.hosts.launch import STATUS, Launched
from stream2gym.hosts.proc_table import PAGE_BYTES, TICKS_PER_S, ProcessRow, descendants, read_table
from stream2gym.hosts.run_queue import RunQueueWaits

# The time that other processes have to end after an orderly end of the main process.
LEFTOVER_S = 5.0
# Time between two looks at programs that are being killed or stopped.
SWEEP_S = 0.02


@dataclass
class ProgramTree:
    """One program. ``handle`` is the number of the command's handle, ``init`` the init of its host."""

    handle: int
    init: int
    launched: Launched
    # The exit code of the main process, once that has ended.
    code: int | None = None
    is_asked_to_end: bool = False
    is_doomed: bool = False
    is_stopping: bool = False
    # When processes that are left are killed.
    give_up_at: float | None = None
    cpu_s: float = 0.0
    most_resident_bytes: int = 0


class ProgramTrees:
    """All programs of the run. ``ours`` are processes that belong to no program, which are skipped."""

    def __init__(self, ours: set[int]) -> None:
        self._ours = ours
        # By the PID of the reaper.
        self._trees: dict[int, ProgramTree] = {}
        self._waits = RunQueueWaits()
        # Messages about ends that are sent when the init of the host has ended, by that init.
        self._dying_hosts: dict[int, list[dict[str, Any]]] = {}

    def add(self, handle: int, init: int, launched: Launched) -> None:
        self._trees[launched.reaper] = ProgramTree(handle, init, launched)

    def find(self, handle: int) -> ProgramTree | None:
        return next((tree for tree in self._trees.values() if tree.handle == handle), None)

    def handle_of(self, reaper: int) -> int | None:
        return self._trees[reaper].handle if reaper in self._trees else None

    def status_pipes(self) -> list[int]:
        """The pipes on which reapers tell how main processes ended."""
        return [
            tree.launched.status for tree in self._trees.values() if tree.code is None and tree.launched.status >= 0
        ]

    def wait_ms(self) -> int | None:
        """How long the supervisor may wait before it calls ``sweep``; None means any time."""
        if any(tree.is_doomed or tree.is_stopping for tree in self._trees.values()):
            return round(SWEEP_S * 1000)
        times = [tree.give_up_at for tree in self._trees.values() if tree.give_up_at is not None]
        return max(0, round((min(times) - time.monotonic()) * 1000) + 1) if times else None

    # ---- signals

    def signal(self, handle: int, number: int) -> bool:
        """Send a signal to a program. Returns False if it has ended already."""
        tree = self.find(handle)
        if tree is None:
            return False
        if number == signal.SIGKILL:
            self._kill(tree)
        elif number == signal.SIGSTOP:
            self._stop(tree)
        elif number == signal.SIGCONT:
            tree.is_stopping = False
            for pid in self._alive(tree):
                _send(pid, number)
        else:
            tree.is_asked_to_end |= number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
            self._signal_group(tree, number)
        return True

    def _signal_group(self, tree: ProgramTree, number: int) -> None:
        if tree.launched.status < 0:
            # It may be in the process group of the command, whose other members must not be signalled.
            _send(tree.launched.main, number)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(tree.launched.main, number)

    def _kill(self, tree: ProgramTree) -> None:
        """Kill all its processes. A process with SIGKILL pending cannot fork: no new one is found in the end."""
        tree.is_doomed = True
        if tree.code is None:
            _send(tree.launched.main, signal.SIGKILL)
        killed = {tree.launched.main}
        while new := [pid for pid in self._alive(tree) if pid not in killed]:
            for pid in new:
                _send(pid, signal.SIGKILL)
            killed.update(new)
        # A program may have stopped all processes of its host, including the reaper.
        _send(tree.launched.reaper, signal.SIGCONT)

    def _stop(self, tree: ProgramTree) -> None:
        """Stop all its processes. What one forks before it stops is found by a later look."""
        _send(tree.launched.main, signal.SIGSTOP)
        table = self._table()
        going = [pid for pid in self._members(tree, table) if not table[pid].is_stopped]
        for pid in going:
            _send(pid, signal.SIGSTOP)
        tree.is_stopping = bool(going)

    # ---- ends

    def note_statuses(self, pipes: set[int]) -> None:
        """Read from these pipes how main processes ended, and end the processes that they left."""
        for tree in list(self._trees.values()):
            if tree.launched.status in pipes and tree.code is None:
                told = os.read(tree.launched.status, STATUS.size)
                if told:
                    tree.code = os.waitstatus_to_exitcode(STATUS.unpack(told)[0])
                    self._end_leftover(tree)
                else:
                    # The reaper died, and its child with it.
                    tree.code = -signal.SIGKILL

    def _end_leftover(self, tree: ProgramTree) -> None:
        if tree.code != 0 and not tree.is_asked_to_end:
            self._kill(tree)
            return
        table = self._table()
        for pid in self._members(tree, table):
            # Members of the group were asked already, and may drop everything at a second request.
            if not tree.is_asked_to_end or table[pid].group != tree.launched.main:
                _send(pid, signal.SIGTERM)
        tree.give_up_at = time.monotonic() + LEFTOVER_S

    def sweep(self) -> None:
        """Continue to kill or stop programs, and kill what has not ended in time."""
        for tree in list(self._trees.values()):
            late = tree.give_up_at is not None and time.monotonic() >= tree.give_up_at
            if tree.is_doomed or late:
                tree.give_up_at = None
                self._kill(tree)
            elif tree.is_stopping:
                self._stop(tree)

    def host_dies(self, init: int) -> None:
        """Note that a host is switched off. Its programs have ended when its init has, which ends last."""
        self._dying_hosts[init] = []

    def reaped(self, pid: int, status: int, used: resource.struct_rusage) -> list[dict[str, Any]]:
        """Note that a child of the supervisor ended. Returns messages about programs that have ended with it."""
        if pid in self._dying_hosts:
            return self._dying_hosts.pop(pid)
        tree = self._trees.pop(pid, None)
        if tree is None:
            return []
        code = tree.code if tree.code is not None else os.waitstatus_to_exitcode(status)
        if tree.launched.status >= 0:
            told = os.read(tree.launched.status, STATUS.size) if tree.code is None else b""
            code = os.waitstatus_to_exitcode(STATUS.unpack(told)[0]) if told else code
            os.close(tree.launched.status)
        message = {
            "op": "exit",
            "process": tree.handle,
            "code": code,
            "cpu_s": max(tree.cpu_s, used.ru_utime + used.ru_stime),
            "max_rss_bytes": max(tree.most_resident_bytes, used.ru_maxrss * 1024),
        }
        if tree.init in self._dying_hosts:
            self._dying_hosts[tree.init].append(message)
            return []
        return [message]

    # ---- use

    def usage(self) -> dict[str, dict[str, float]]:
        """CPU seconds and waits for a CPU so far, and resident bytes now, of every program, by handle.

        The CPU time of descendants that have ended is included. Pages that processes share are counted for each.
        """
        table = self._table()
        found = {}
        for tree, members in self._all_members(table):
            rows = [table[pid] for pid in members]
            reaper = table.get(tree.launched.reaper)
            ticks = sum(row.own_ticks + row.waited_ticks for row in rows)
            if reaper is not None and tree.launched.status >= 0:
                ticks += reaper.waited_ticks
            resident = sum(row.resident_pages for row in rows) * PAGE_BYTES
            tree.cpu_s = max(tree.cpu_s, ticks / TICKS_PER_S)
            tree.most_resident_bytes = max(tree.most_resident_bytes, resident)
            used = {"cpu_s": tree.cpu_s, "rss_bytes": float(resident)}
            waited_s = self._waits.waited_s(tree.handle, members)
            if waited_s is not None:
                used["cpu_wait_s"] = waited_s
            found[str(tree.handle)] = used
        self._waits.keep(tree.handle for tree in self._trees.values())
        return found

    def processes_of(self, handle: int) -> list[int]:
        """The processes of a program that are no zombies; none if it has ended."""
        tree = self.find(handle)
        return [] if tree is None else self._alive(tree)

    def processes_by_init(self) -> tuple[dict[int, ProcessRow], dict[int, list[int]]]:
        """Every process, and the processes of all programs of a host that are no zombies, by the init of the host."""
        table = self._table()
        found: dict[int, list[int]] = {}
        for tree, members in self._all_members(table):
            found.setdefault(tree.init, []).extend(pid for pid in members if table[pid].is_alive)
        return table, found

    def _table(self) -> dict[int, ProcessRow]:
        return read_table(self._ours)

    def _alive(self, tree: ProgramTree) -> list[int]:
        return self._members(tree, self._table())

    def _members(self, tree: ProgramTree, table: dict[int, ProcessRow]) -> list[int]:
        """The processes of the program that are no zombies."""
        [members] = descendants(table, tree.launched.reaper)
        if tree.launched.status < 0 and tree.launched.main in table:
            members.insert(0, tree.launched.main)
        return [pid for pid in members if table[pid].is_alive]

    def _all_members(self, table: dict[int, ProcessRow]) -> Iterator[tuple[ProgramTree, list[int]]]:
        """Every program and its processes, including zombies, whose CPU time is not added to their parents yet."""
        trees = list(self._trees.values())
        for tree, members in zip(trees, descendants(table, *(tree.launched.reaper for tree in trees)), strict=True):
            if tree.launched.status < 0 and tree.launched.main in table:
                members.insert(0, tree.launched.main)
            yield tree, members


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
