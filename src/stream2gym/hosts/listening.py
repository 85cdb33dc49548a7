"""Where programs listen: the TCP sockets in state LISTEN that their processes hold, as ``/proc`` shows them."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Sequence

_LISTEN = "0A"


def find_listening(pids: Sequence[int]) -> list[str]:
    """The addresses with ports on which these processes of one program listen, each once, in order of the ports.

    A process that ends meanwhile is left out.
    """
    if not pids:
        return []
    inodes = {inode for pid in pids for inode in _socket_inodes(pid)}
    found: set[tuple[int, str]] = set()
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pids[0]}/net/{name}") as file:
                found |= {(port, address) for inode, address, port in parse_table(file) if inode in inodes}
        except OSError:
            continue
    return [f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for port, address in sorted(found)]


def parse_table(lines: Iterable[str]) -> list[tuple[int, str, int]]:
    """Inode, address and port of every listening socket in a table of ``/proc/net``."""
    rows = []
    for line in lines:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN:
            address, _, port = fields[1].partition(":")
            rows.append((int(fields[9]), read_address(address), int(port, 16)))
    return rows


def read_address(text: str) -> str:
    """An address as the kernel writes it: words of four bytes, each in the order of the machine."""
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _socket_inodes(pid: int) -> Iterable[int]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            yield int(target[8:-1])
