"""Whose a connection is: the process that holds its socket, and the component that the process was started for.

The kernel tells the inode of a socket (``/proc/PID/net/tcp``) and which process has a descriptor of it
(``/proc/PID/fd``). A program finds the name of its component in its environment, and so do its descendants; where one
of them started with another environment, the nearest ancestor that has the name counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

_NAME, _INSTANCE = b"S2G_COMPONENT=", b"S2G_INSTANCE="
_MOST_ANCESTORS = 64


def find_owner(net: int, local: tuple[bytes, int], remote: tuple[bytes, int]) -> tuple[str, int] | None:
    """Component and instance behind a connection from ``local`` to ``remote`` (address, port).

    ``net`` is the inode of the host's network namespace. The name is empty where the process that holds the socket
    belongs to no program of the user's. None where no process holds the socket.
    """
    processes = list(_processes_in(net))
    for pid in processes:
        inode = _socket_inode(pid, local, remote)
        if inode is not None:
            holders = [holder for holder in processes if _holds(holder, inode)]
            owners = (_component(holder) for holder in holders)
            return next((owner for owner in owners if owner is not None), ("", 0) if holders else None)
    return None


def _processes_in(net: int) -> Iterator[int]:
    """The processes of a network namespace, youngest numbers first."""
    for pid in sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True):
        try:
            if os.stat(f"/proc/{pid}/ns/net").st_ino == net:
                yield pid
        except OSError:
            continue


def _socket_inode(pid: int, local: tuple[bytes, int], remote: tuple[bytes, int]) -> int | None:
    """The inode of the socket, as the namespace of this process lists it; also of an IPv6 socket that speaks IPv4."""
    wanted = (_written(local), _written(remote))
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{table}", "rb") as file:
                lines = file.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if (fields[1][-13:], fields[2][-13:]) == wanted:
                return int(fields[9])
    return None


def _written(end: tuple[bytes, int]) -> bytes:
    """An end as the kernel's table writes it: the address in the machine's order of bytes, then the port."""
    return b"%08X:%04X" % (int.from_bytes(end[0], "little"), end[1])


def _holds(pid: int, inode: int) -> bool:
    wanted = f"socket:[{inode}]"
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(f"/proc/{pid}/fd/{name}") == wanted:
                    return True
            except OSError:
                continue
    except OSError:
        pass
    return False


def _component(pid: int) -> tuple[str, int] | None:
    for _ in range(_MOST_ANCESTORS):
        if pid <= 0:
            return None
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            with open(f"/proc/{pid}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError):
            return None
        name = next((one[len(_NAME) :] for one in variables if one.startswith(_NAME)), None)
        if name is not None:
            number = next((one[len(_INSTANCE) :] for one in variables if one.startswith(_INSTANCE)), b"1")
            return name.decode("utf-8", "replace"), int(number) if number.isdigit() else 1
        pid = parent
    return None
