"""Checks of hosts, switches, links and given paths."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import pairwise

from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean


def check_nodes(index: ExperimentIndex) -> Iterator[Finding]:
    """Check names and addresses of hosts and switches."""
    topology = index.experiment.topology
    if not topology.hosts and not index.lost("hosts"):
        yield Finding(("topology",), "there are no hosts", "topology: {kind: star, hosts: 2}")
    seen: set[str] = set()
    addresses: dict[str, str] = {}
    nodes = [("hosts", number, host.name) for number, host in enumerate(topology.hosts)]
    nodes += [("switches", number, switch.name) for number, switch in enumerate(topology.switches)]
    for group, number, name in nodes:
        if name in seen:
            what = f"the name {brief(name)} is taken by another node"
            yield Finding(("topology", group, number), what, "names are unique")
        seen.add(name)
    for number, host in enumerate(topology.hosts):
        if host.address is None:
            continue
        path: DataPath = ("topology", "hosts", number, "address")
        try:
            address = ipaddress.IPv4Address(host.address)
        except ValueError:
            yield Finding(path, f"{brief(host.address)} is not an IPv4 address", "write it like 10.0.0.7")
            continue
        if address.is_loopback or address.is_multicast or address.is_unspecified or address.is_reserved:
            yield Finding(path, f"{address} cannot be the address of a host", "write it like 10.0.0.7")
        if str(address) in addresses:
            yield Finding(path, f"{address} is the address of {addresses[str(address)]} already")
        addresses.setdefault(str(address), host.name)


def check_captures(index: ExperimentIndex) -> Iterator[Finding]:
    """Check that every link whose packets are wanted is there, by its name."""
    links = [link.name for link in index.experiment.topology.links]
    for number, name in enumerate(index.experiment.capture):
        if name not in links:
            hint = did_you_mean(name, links) or "there is no link at all"
            yield Finding(("capture", number), f"there is no link {brief(name)}", hint)


def check_links(index: ExperimentIndex) -> Iterator[Finding]:
    """Check the ends and the ports of links."""
    nodes = index.hosts | index.switches
    seen: set[frozenset[str]] = set()
    ports: dict[tuple[str, int], str] = {}
    for number, link in enumerate(index.experiment.topology.links):
        path: DataPath = ("topology", "links", number)
        for end in dict.fromkeys(link.between):
            yield from index.unknown(path, "host or switch", end, nodes)
        if link.between[0] == link.between[1]:
            yield Finding(path, f"{link.between[0]} is linked to itself", "a link joins two nodes")
        pair = frozenset(link.between)
        if pair in seen:
            yield Finding(path, f"there are two links {link.name}", "keep one")
        seen.add(pair)
        for end, port in zip(link.between, link.ports, strict=True):
            if port is None:
                continue
            if not 0 <= port <= 65535:
                yield Finding(path, f"{port} is not a port number", "0 to 65535")
            if (end, port) in ports:
                yield Finding(path, f"port {port} of {end} is used by {ports[end, port]} already")
            ports.setdefault((end, port), link.name)


def check_routing(index: ExperimentIndex) -> Iterator[Finding]:
    """Check the given paths."""
    routing = index.experiment.topology.routing
    here: DataPath = ("topology", "routing")
    if routing.by == "given" and not routing.paths:
        yield Finding(here, "routing by given paths needs paths", 'paths: {"h1 -> h3": [s1, s2]}')
    if routing.paths and routing.by != "given":
        yield Finding(here, f"paths are given but routing is by {routing.by}", "by: given")
    joined = index.links | {(b, a) for a, b in index.links}
    for pair, between in routing.paths.items():
        path: DataPath = (*here, "paths", pair)
        ends = [end.strip() for end in pair.split("->")]
        if len(ends) != 2:
            yield Finding(path, f"{brief(pair)} is not a pair of hosts", 'write it like "h1 -> h3"')
            continue
        unknown = [found for end in ends for found in index.host(path, end)]
        unknown += [f for node in between for f in index.unknown(path, "node", node, index.hosts | index.switches)]
        yield from unknown
        nodes = list(between)
        nodes = ([] if nodes[:1] == ends[:1] else ends[:1]) + nodes + ([] if nodes[-1:] == ends[1:] else ends[1:])
        for a, b in pairwise(nodes) if not unknown else ():
            if (a, b) not in joined and not index.knows(f"{a} -- {b}"):
                yield Finding(
                    path, f"the path needs a link {a} -- {b}, which does not exist", "name every node of the path"
                )
