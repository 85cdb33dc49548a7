"""What the kernel says about the hosts, from texts as it writes them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from stream2gym.hosts.host_usage import (
    count_threads_and_files,
    parse_devices,
    parse_proportional_bytes,
    parse_tcp,
    read_memory_in_child,
    sum_proportional_bytes,
)
from stream2gym.hosts.proc_table import ProcessRow

DEVICES = """\
Inter-| Receive | Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 9999 10 0 7 0 0 0 0 9999 10 0 7 0 0 0 0
h1-eth0: 1500 3 0 1 0 0 0 0 300 2 0 4 0 0 0 0
  eth1: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0
"""
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 2 64
Tcp: RtoAlgorithm CurrEstab InSegs RetransSegs
Tcp: 1 16 402754 12
Udp: InDatagrams
Udp: 5
"""
ROLLUP = """\
55d0a0000000-7ffd00000000 ---p 00000000 00:00 0                          [rollup]
Rss:              391204 kB
Pss:              150321 kB
Pss_Dirty:        150000 kB
"""


def row(threads: int) -> ProcessRow:
    return ProcessRow(1, 1, "S", 0, 0, 0, threads)


def children() -> set[int]:
    return {int(word) for path in Path("/proc/self/task").glob("*/children") for word in path.read_text().split()}


def test_bytes_of_all_devices_but_the_loopback_device_count() -> None:
    assert parse_devices(DEVICES) == {"received_bytes": 1510, "sent_bytes": 320, "device_drops": 5}


def test_tcp_numbers_are_found_by_their_names_in_the_line_before() -> None:
    assert parse_tcp(SNMP) == {"tcp_connections": 16, "tcp_retransmitted": 12}
    assert parse_tcp("Ip: Forwarding\nIp: 2\n") == {}


def test_proportional_memory_is_its_own_line() -> None:
    assert parse_proportional_bytes(ROLLUP) == 150321 * 1024
    assert parse_proportional_bytes("") == 0


def test_processes_that_have_ended_are_left_out(tmp_path: Path) -> None:
    for pid in (7, 8):
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "smaps_rollup").write_text(ROLLUP)
    table = {7: row(5), 8: row(2), 9: row(100)}
    found = count_threads_and_files([7, 8, 9], table, str(tmp_path))
    assert found["threads"] == 7
    assert sum_proportional_bytes([7, 8, 9], str(tmp_path)) == 2 * 150321 * 1024


def test_memory_is_read_by_a_child_that_ends_by_itself() -> None:
    before = children()
    with read_memory_in_child(lambda: {"h1": [os.getpid()], "h2": []}) as answers:
        found = json.loads(b"".join(iter(lambda: answers.recv(4096), b"")))
    assert found["h1"] > 1024**2
    assert found["h2"] == 0
    [child] = children() - before
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_that_fails_says_nothing_and_ends() -> None:
    def fail() -> dict[str, list[int]]:
        raise OSError("no such file")

    before = children()
    with read_memory_in_child(fail) as answers:
        assert answers.recv(4096) == b""
    [child] = children() - before
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
