"""Where a program listens, as the kernel's tables say; and which names a host knows."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from stream2gym.hosts.listening import find_listening, parse_table, read_address
from stream2gym.hosts.supervisor import hosts_file
from stream2gym.plan.planned import Network, PlannedHost, Routing

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100000A:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1
   1: 0100000A:9C40 0200000A:2384 01 00000000:00000000 00:00000000 00000000     0        0 4712 1
"""


def test_only_sockets_that_listen_are_read_from_a_table() -> None:
    assert parse_table(TABLE.splitlines()) == [(4711, "10.0.0.1", 9092)]


@pytest.mark.skipif(sys.byteorder != "little", reason="the texts are those of a little-endian machine")
def test_addresses_are_read_as_the_kernel_writes_them() -> None:
    assert read_address("0100007F") == "127.0.0.1"
    assert read_address("0000000000000000FFFF00000100000A") == "10.0.0.1"
    assert read_address("00000000000000000000000001000000") == "::1"


def test_a_socket_of_this_process_is_found_while_it_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        assert place in find_listening([os.getpid()])
    assert place not in find_listening([os.getpid()])
    assert find_listening([]) == []


def test_a_component_has_the_address_of_its_host_and_never_takes_the_name_of_one() -> None:
    hosts = tuple(PlannedHost(f"h{number}", f"10.0.0.{number}", "eth0") for number in (1, 2))
    network = Network(hosts, (), (), Routing(), seed=1)
    text = hosts_file(network, {"shop": "h2", "h1": "h2", "localhost": "h2", "odd name": "h1", "job": "h2"})
    assert text.splitlines() == ["127.0.0.1 localhost", "10.0.0.1 h1", "10.0.0.2 h2 shop job"]
    assert hosts_file(network).splitlines()[1] == "10.0.0.1 h1"
