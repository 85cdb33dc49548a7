"""The processes of the run, as ``/proc`` shows them to the supervisor: their parents, and what they use.

The supervisor is in the outermost PID namespace of the run. So its ``/proc`` lists the processes of every host, with
their PIDs in that namespace.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class ProcessRow:
    """One process. ``waited_ticks`` is the CPU time of descendants that have ended and were waited for."""

    parent: int
    group: int
    state: str
    own_ticks: int
    waited_ticks: int
    resident_pages: int
    threads: int = 1

    @property
    def is_alive(self) -> bool:
        """Whether it is no zombie."""
        return self.state not in "ZX"

    @property
    def is_stopped(self) -> bool:
        return self.state in "Tt"


def read_table(skip: Collection[int] = ()) -> dict[int, ProcessRow]:
    """Every process except those in ``skip``, by PID. A process that ends meanwhile is left out."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in skip:
            row = read_row(int(name))
            if row is not None:
                table[int(name)] = row
    return table


def read_row(pid: int) -> ProcessRow | None:
    """One process; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return ProcessRow(
        parent=int(fields[1]),
        group=int(fields[2]),
        state=fields[0].decode(),
        own_ticks=int(fields[11]) + int(fields[12]),
        waited_ticks=int(fields[13]) + int(fields[14]),
        resident_pages=int(fields[21]),
        threads=int(fields[17]),
    )


def descendants(table: Mapping[int, ProcessRow], *roots: int) -> list[list[int]]:
    """The descendants of each root, without the root itself, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, row in table.items():
        children.setdefault(row.parent, []).append(pid)
    found = []
    for root in roots:
        below = list(children.get(root, ()))
        for pid in below:
            below += children.get(pid, ())
        found.append(below)
    return found
