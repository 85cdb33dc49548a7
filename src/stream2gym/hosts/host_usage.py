"""What the hosts use, as the kernel counts it: network, TCP, threads, open files, proportional memory.

The supervisor reads it, because it alone sees the processes of all hosts and may enter their network namespaces. The
files of a host's network stay open, because to open them a process must enter the namespace.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from stream2gym import linux
from stream2gym.hosts.emulated_host import EmulatedHost, OwnNamespaces
from stream2gym.hosts.proc_table import ProcessRow

KIB = 1024
# More than the kernel writes for a host, which has two or three devices.
_MOST_BYTES = 65_536
_FILES = ("dev", "snmp")


@dataclass
class HostUsage:
    """Reads what hosts use. Descriptors are opened when a host is first read."""

    own: OwnNamespaces
    _open: dict[str, list[int]] = field(default_factory=dict)

    def read_network(self, host: EmulatedHost) -> dict[str, float]:
        """Bytes through the devices of the host, and its TCP connections, since it was built."""
        if host.name not in self._open:
            self._open[host.name] = self._open_files(host)
        devices, protocols = (os.pread(fd, _MOST_BYTES, 0).decode("ascii") for fd in self._open[host.name])
        return {**parse_devices(devices), **parse_tcp(protocols)}

    def _open_files(self, host: EmulatedHost) -> list[int]:
        opened: list[int] = []
        linux.setns(host.net, linux.CLONE_NEWNET)
        try:
            for name in _FILES:
                opened.append(os.open(f"/proc/thread-self/net/{name}", os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            for fd in opened:
                os.close(fd)
            raise
        finally:
            linux.setns(self.own.net, linux.CLONE_NEWNET)
        return opened


def parse_devices(text: str) -> dict[str, float]:
    """Sums over all devices in ``/proc/net/dev`` except the loopback device."""
    received = sent = dropped = 0
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        numbers = rest.split()
        if name.strip() == "lo" or len(numbers) < 12:
            continue
        received += int(numbers[0])
        sent += int(numbers[8])
        dropped += int(numbers[3]) + int(numbers[11])
    return {"received_bytes": received, "sent_bytes": sent, "device_drops": dropped}


def parse_tcp(text: str) -> dict[str, float]:
    """Connections now and segments sent again so far, from ``/proc/net/snmp``, where names precede their values."""
    lines = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
    if len(lines) < 2:
        return {}
    values = dict(zip(lines[0][1:], lines[1][1:], strict=False))
    wanted = {"tcp_connections": "CurrEstab", "tcp_retransmitted": "RetransSegs"}
    return {metric: int(values[name]) for metric, name in wanted.items() if name in values}


def count_threads_and_files(
    pids: Iterable[int], table: Mapping[int, ProcessRow], proc: str = "/proc"
) -> dict[str, float]:
    """How many threads and open files these processes have together. One that ends meanwhile is left out."""
    threads = files = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            files += _count_files(f"{proc}/{pid}/fd")
            threads += table[pid].threads
    return {"threads": threads, "open_files": files}


def _count_files(folder: str) -> int:
    """The number of descriptors. Since Linux 6.2 it is the size of the folder; before, that is 0."""
    return os.stat(folder).st_size or len(os.listdir(folder))


def read_memory_in_child(find_processes: Callable[[], Mapping[str, Iterable[int]]]) -> socket.socket:
    """A socket from which the proportional memory of every host can be read, as JSON, when it is known.

    A child of this process reads the memory. The kernel walks through every process for it, and may have to wait for
    a busy process meanwhile: that can take seconds, in which the supervisor could start and kill nothing.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        if os.fork() == 0:
            code = 1
            with contextlib.suppress(BaseException):
                linux.name_process("s2g-memory")
                found = {host: sum_proportional_bytes(pids) for host, pids in find_processes().items()}
                theirs.sendall(json.dumps(found).encode())
                code = 0
            os._exit(code)
    return ours


def sum_proportional_bytes(pids: Iterable[int], proc: str = "/proc") -> int:
    """The memory of these processes, of which a page that n processes share counts as an n-th for each of them."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"{proc}/{pid}/smaps_rollup", encoding="ascii") as file:
            total += parse_proportional_bytes(file.read())
    return total


def parse_proportional_bytes(text: str) -> int:
    """The line ``Pss:`` of a file ``smaps_rollup``, in bytes; 0 for a process without memory of its own."""
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * KIB
