"""Addresses of hosts, names of interfaces and numbers of ports. Pure: the same input gives the same result.

A host called hN has the address 10.0.0.N, as published. From h255 on the next block is used (10.0.1.1); addresses
that end in .0 or .255 are left out, because many people take them for network or broadcast addresses. A host with
another name gets the lowest free address, in the order of the document. An address that the user gave is always used.
The observer has the last usable address of the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network

from stream2gym.errors import Mistake

NETWORK = IPv4Network("10.0.0.0/8")
OBSERVER_ADDRESS = "10.255.255.254"
INTERFACE_LENGTH = 15  # the kernel's IFNAMSIZ without its final zero byte

_NUMBERED = re.compile(r"^h([1-9]\d{0,7})$")
_BLOCK = 254
_NUMBERS = _BLOCK * 2**16 - 1  # without the address of the observer


def assign_addresses(hosts: Sequence[tuple[str, str | None]]) -> tuple[dict[str, str], list[Mistake]]:
    """Assign an address to every host.

    ``hosts`` are pairs of a name and the address that the user gave, or None. Returns the addresses by name, and the
    mistakes in the given addresses.
    """
    taken: dict[str, str] = {}  # address to host
    addresses: dict[str, str] = {}
    mistakes = []
    for name, given in hosts:
        if given is None:
            continue
        address, problem = _checked(given)
        if not problem and address in taken:
            problem = f"address {address} is given to {taken[address]} too"
        if problem:
            mistakes.append(Mistake(f"host {name}", problem, f"an address of {NETWORK}, one for each host"))
        else:
            addresses[name] = address
            taken[address] = name
    for name, _ in hosts:
        number = _own_number(name)
        if name not in addresses and number and _numbered(number) not in taken:
            addresses[name] = _numbered(number)
            taken[addresses[name]] = name
    free = _free(taken)
    for name, _ in hosts:
        if name not in addresses:
            addresses[name] = next(free)
    return addresses, mistakes


def _checked(given: str) -> tuple[str, str]:
    """The address in its usual form and an empty text, or an empty text and what is wrong."""
    try:
        address = IPv4Address(given.strip())
    except AddressValueError:
        return "", f"{given!r} is not an IPv4 address"
    if address not in NETWORK:
        return "", f"address {given} is outside of {NETWORK}, the network of all hosts"
    if address in (NETWORK.network_address, NETWORK.broadcast_address):
        return "", f"address {given} is the network or broadcast address, not that of a host"
    if str(address) == OBSERVER_ADDRESS:
        return "", f"address {given} belongs to the observer"
    return str(address), ""


def _own_number(name: str) -> int:
    """N of a host called hN, 0 for any other name."""
    match = _NUMBERED.match(name)
    number = int(match[1]) if match else 0
    return number if number <= _NUMBERS else 0


def _numbered(number: int) -> str:
    """The address of the host number N."""
    block, place = divmod(number - 1, _BLOCK)
    return f"10.{block >> 8}.{block & 255}.{place + 1}"


def _free(taken: dict[str, str]) -> Iterator[str]:
    """The addresses that nobody has, in ascending order."""
    return (address for number in range(1, _NUMBERS + 1) if (address := _numbered(number)) not in taken)


def interface_names(hosts: Iterable[tuple[str, int]]) -> dict[str, str]:
    """The unique interface name of every host (name, port): ``h1-eth1``, shortened to what the kernel takes."""
    names: dict[str, str] = {}
    long = []
    for host, port in hosts:
        name = f"{host}-eth{port}"
        if len(name) <= INTERFACE_LENGTH:
            names[host] = name
        else:
            long.append((host, port))
    used = set(names.values())
    for host, port in long:
        copy = 1
        while True:
            end = f"-eth{port}" if copy == 1 else f"~{copy}-eth{port}"
            name = host[: INTERFACE_LENGTH - len(end)] + end
            if name not in used:
                break
            copy += 1
        names[host] = name
        used.add(name)
    return names


def number_ports(
    ends: Sequence[tuple[str, int | None, str, int | None]],
) -> tuple[list[tuple[int, int]], list[str]]:
    """Number the ports of links. Each link is (node, port or None, node, port or None).

    Given ports are kept; the others count from 1 and skip ports that are taken. Returns the ports of each link, and
    warnings about given ports that cannot be used.
    """
    used: dict[str, set[int]] = {}
    warnings: list[str] = []
    chosen = [
        (_given_port(a, port_a, used, warnings), _given_port(b, port_b, used, warnings))
        for a, port_a, b, port_b in ends
    ]
    counters: dict[str, int] = {}
    ports = [
        (port_a or _next_port(a, used, counters), port_b or _next_port(b, used, counters))
        for (a, _, b, _), (port_a, port_b) in zip(ends, chosen, strict=True)
    ]
    return ports, warnings


def _given_port(node: str, port: int | None, used: dict[str, set[int]], warnings: list[str]) -> int | None:
    """The given port if it is valid and free, else None and a warning."""
    if port is None:
        return None
    if port < 1:
        warnings.append(f"{port} is no port number of {node} (they start at 1); a free one is used")
        return None
    if port in used.setdefault(node, set()):
        warnings.append(f"port {port} of {node} is given to two links; a free one is used for the second")
        return None
    used[node].add(port)
    return port


def _next_port(node: str, used: dict[str, set[int]], counters: dict[str, int]) -> int:
    """The next free port of a node."""
    port = counters.get(node, 0) + 1
    while port in used.get(node, ()):
        port += 1
    counters[node] = port
    return port
