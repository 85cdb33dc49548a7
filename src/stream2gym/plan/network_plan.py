"""Makes the network of a plan from the topology of an experiment: addresses, interfaces, ports and given paths."""

from __future__ import annotations

from itertools import pairwise

from stream2gym.errors import Mistake
from stream2gym.plan.addresses import OBSERVER_ADDRESS, assign_addresses, interface_names, number_ports
from stream2gym.plan.planned import Network, PlannedHost, PlannedLink, Routing
from stream2gym.spec.findings import did_you_mean
from stream2gym.spec.model import Link, Topology

_LARGEST_MTU = 65535


def plan_network(topology: Topology, seed: int) -> tuple[Network | None, list[Mistake], list[str]]:
    """The network, the mistakes of the topology, and warnings. The network is None if there are mistakes."""
    mistakes = _check_names(topology)
    if mistakes:
        return None, mistakes, []
    addresses, mistakes = assign_addresses([(host.name, host.address) for host in topology.hosts])
    given, wrong = _given_paths(topology)
    if mistakes or wrong:
        return None, mistakes + wrong, []
    links, warnings = _links(topology.links)
    observer = _observer_name({host.name for host in topology.hosts} | {s.name for s in topology.switches})
    ports = _first_ports(links)
    interfaces = interface_names([(host.name, ports.get(host.name, 1)) for host in topology.hosts] + [(observer, 1)])
    mtus = _smallest_mtus(links)
    hosts = tuple(
        PlannedHost(
            name=host.name,
            address=addresses[host.name],
            interface=interfaces[host.name],
            mtu=mtus.get(host.name, 1500),
            cpu_share=None if host.cpu is None else float(host.cpu),
            memory_bytes=None if host.memory is None else int(host.memory),
        )
        for host in topology.hosts
    )
    reconverge = topology.routing.reconverge
    routing = Routing(
        by=topology.routing.by,
        reconverge_ms=None if isinstance(reconverge, str) else reconverge.in_ms,
        given=given,
    )
    network = Network(
        hosts=hosts,
        switches=tuple(switch.name for switch in topology.switches),
        links=tuple(links),
        routing=routing,
        seed=seed,
        observer=PlannedHost(observer, OBSERVER_ADDRESS, interfaces[observer]),
    )
    return network, [], warnings


def _check_names(topology: Topology) -> list[Mistake]:
    """Mistakes about names that are used twice, and about links to unknown nodes."""
    mistakes: list[Mistake] = []
    nodes: dict[str, str] = {}
    named = [("host", host.name) for host in topology.hosts] + [("switch", s.name) for s in topology.switches]
    for kind, name in named:
        if name in nodes:
            other = nodes[name]
            mistakes.append(Mistake(f"{kind} {name}", f"there is a {other} of this name already"))
        nodes.setdefault(name, kind)
    for link in topology.links:
        for end in dict.fromkeys(link.between):
            if end not in nodes:
                what = f"{end!r} is neither a host nor a switch"
                mistakes.append(Mistake(f"link {link.name}", what, did_you_mean(end, nodes)))
        if link.between[0] == link.between[1]:
            mistakes.append(Mistake(f"link {link.name}", "a link needs two different ends"))
    return mistakes


def _links(links: list[Link]) -> tuple[list[PlannedLink], list[str]]:
    """Links with ports and unique names. Further links between the same two nodes are numbered from #2."""
    ports, warnings = number_ports(
        [(link.between[0], link.ports[0], link.between[1], link.ports[1]) for link in links]
    )
    seen: dict[frozenset[str], int] = {}
    planned = []
    for link, (port_a, port_b) in zip(links, ports, strict=True):
        ends = frozenset(link.between)
        seen[ends] = seen.get(ends, 0) + 1
        name = link.name if seen[ends] == 1 else f"{link.name} #{seen[ends]}"
        forward, backward = link.settings()
        planned.append(PlannedLink(name, *link.between, port_a, port_b, forward, backward))
    return planned, warnings


def _first_ports(links: list[PlannedLink]) -> dict[str, int]:
    """The lowest port of each node."""
    ports: dict[str, int] = {}
    for link in links:
        for end, port in ((link.a, link.port_a), (link.b, link.port_b)):
            ports[end] = min(ports.get(end, port), port)
    return ports


def _smallest_mtus(links: list[PlannedLink]) -> dict[str, int]:
    """The largest packet that all links of a node take, in both directions."""
    mtus: dict[str, int] = {}
    for link in links:
        for end in (link.a, link.b):
            mtus[end] = min(mtus.get(end, _LARGEST_MTU), link.forward.mtu, link.backward.mtu)
    return mtus


def _observer_name(taken: set[str]) -> str:
    """A name for the observer that no other node has."""
    name, copy = "observer", 1
    while name in taken:
        copy += 1
        name = f"observer-{copy}"
    return name


def _given_paths(topology: Topology) -> tuple[dict[str, tuple[str, ...]], list[Mistake]]:
    """The given paths, with both ends included, and the mistakes in them."""
    hosts = [host.name for host in topology.hosts]
    switches = {switch.name for switch in topology.switches}
    wired = {frozenset(link.between) for link in topology.links}
    paths: dict[str, tuple[str, ...]] = {}
    mistakes = []
    for pair, nodes in topology.routing.paths.items():
        where = f"routing, path {pair!r}"
        source, arrow, target = (part.strip() for part in pair.partition("->"))
        if not arrow or not source or not target or source == target:
            mistakes.append(Mistake(where, "not a pair of hosts", "write it like 'h1 -> h3'"))
            continue
        unknown = [name for name in (source, target) if name not in hosts]
        mistakes += [Mistake(where, f"{name!r} is not a host", did_you_mean(name, hosts)) for name in unknown]
        if unknown:
            continue
        way = ([] if nodes[:1] == [source] else [source]) + list(nodes)
        way += [] if way[-1] == target else [target]
        problem = _path_problem(way, switches, wired)
        if problem:
            mistakes.append(Mistake(where, *problem))
        paths[f"{source} -> {target}"] = tuple(way)
    return paths, mistakes


def _path_problem(way: list[str], switches: set[str], wired: set[frozenset[str]]) -> tuple[str, str] | tuple[()]:
    """What is wrong with a path and what would be right; empty if it is valid."""
    if len(set(way)) != len(way):
        return f"contains a node twice: {' '.join(way)}", "a path has no loops"
    for name in way[1:-1]:
        if name not in switches:
            return f"{name!r} is not a switch, and only switches forward", did_you_mean(name, switches)
    for a, b in pairwise(way):
        if frozenset((a, b)) not in wired:
            near = sorted(next(iter(ends - {a})) for ends in wired if a in ends)
            return (
                f"there is no link {a} -- {b}",
                f"{did_you_mean(b, near)} ({a} is linked to {', '.join(near)})",
            )
    return ()
