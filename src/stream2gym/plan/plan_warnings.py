"""Warnings of a plan: what is allowed but probably not meant. They never prevent a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream2gym.kinds.engine_settings import KAFKA_STREAMS
from stream2gym.kinds.registry import registry
from stream2gym.link import JitterShape, LinkSettings
from stream2gym.plan.members import Member
from stream2gym.plan.planned import Network, PathView, PlannedLink
from stream2gym.plan.talking_paths import NetworkPaths
from stream2gym.spec.model import Engine, Producer
from stream2gym.units import Bandwidth, ByteRate

# The largest ratio of jitter to latency without negative delays. A normal distribution is taken up to three standard
# deviations.
_WIDEST_JITTER: dict[JitterShape, float] = {"normal": 1 / 3, "uniform": 1.0, "pareto": 1.4}
_FASTEST_BPS = 10e9  # the userspace fabric carries no more than this
_LONGEST_QUEUE_S = 5.0
_SHOWN = 5


def about_network(network: Network) -> list[str]:
    """Warnings about links, hosts and shares of the processors."""
    found = [text for link in network.links for text in _about_link(link)]
    linked = {end for link in network.links for end in (link.a, link.b)}
    lonely = [host.name for host in network.hosts if host.name not in linked]
    if lonely and len(network.hosts) > 1:
        found.append(f"no link leads to {_some(lonely)}")
    parts = _parts(network)
    if len(parts) > 1:
        shown = "; ".join(_some(part, 3) for part in parts[:_SHOWN])
        found.append(f"the network has {len(parts)} parts without a connection: {shown}")
    share = sum(host.cpu_share or 0.0 for host in network.hosts)
    if share > 1.0 + 1e-9:
        found.append(f"hosts ask for {share:.0%} of the processors together, which they cannot have at the same time")
    return found


def about_paths(network_paths: NetworkPaths, paths: Iterable[PathView]) -> list[str]:
    """Warnings about pairs without a path, and about packets that are too large for a link on their path."""
    views = list(paths)
    found = []
    cut_off = [f"{view.source} and {view.target}" for view in views if not view.nodes]
    if cut_off:
        found.append(f"there is no path between {_some(cut_off, sep='; ')}")
    mtu = {host.name: host.mtu for host in network_paths.network.hosts}
    narrow: dict[tuple[str, int], list[str]] = {}
    for view in views:
        for source, target in ((view.source, view.target), (view.target, view.source)):
            for hop in network_paths.path(source, target) or ():
                [settings] = network_paths.settings([hop])
                if settings.mtu < mtu[source]:
                    narrow.setdefault((hop.link, settings.mtu), []).append(f"{source} to {target}")
    for (link, size), users in narrow.items():
        found.append(
            f"link {link} takes packets up to {size} bytes; larger ones that hosts send over it "
            f"({_some(users, 3)}) are fragmented or dropped"
        )
    return found


def about_load(
    network_paths: NetworkPaths, members: Iterable[Member], hosts: dict[str, str], brokers: Sequence[str]
) -> list[str]:
    """Warnings about producers that offer more than the path to a broker carries."""
    found = []
    for member in members:
        if not isinstance(member.component, Producer):
            continue
        offered = _offered_bps(member.component)
        source = hosts[member.name]
        for broker in dict.fromkeys(hosts[name] for name in brokers):
            path = network_paths.path(source, broker)
            limits = [s.bandwidth_bps for s in network_paths.settings(path or ()) if s.bandwidth_bps is not None]
            if offered and limits and offered > min(limits):
                found.append(
                    f"{member.name} offers {Bandwidth(offered)} of payload, but the path from {source} to "
                    f"{broker} carries {Bandwidth(min(limits))}"
                )
                break
    return found


def about_applications(engines: Iterable[Engine]) -> list[str]:
    """Warnings about copies of one Kafka Streams program that do not share its work."""
    alone: dict[str, list[str]] = {}
    for engine in engines:
        kind = registry("engine").find(engine.type)
        if kind is KAFKA_STREAMS and engine.app and not engine.settings.get("application"):
            alone.setdefault(engine.app, []).append(str(engine.name))
    return [
        f"{_some(names)} run {app} as applications of their own: each reads every message; with the same "
        f"'application:' they are instances that share the work"
        for app, names in alone.items()
        if len(names) > 1
    ]


def about_plug_ins(engines: Iterable[Engine]) -> list[str]:
    """Warnings about engines whose type is built in, while a plug-in that has the same name is not used."""
    shadowed = registry("engine").plug_ins.shadowed
    return [
        f"engine {engine.name}: {engine.type} is the built-in one; "
        f"the plug-in {plug_in} has the same name and is not used"
        for engine in engines
        if (plug_in := shadowed.get(engine.type.strip().lower()))
    ]


def _about_link(link: PlannedLink) -> list[str]:
    """Warnings about one link."""
    found: list[str] = []
    for settings, way in ((link.forward, f"{link.a} to {link.b}"), (link.backward, f"{link.b} to {link.a}")):
        place = f"link {link.name}" if link.forward == link.backward else f"link {link.name} ({way})"
        found += [f"{place}: {text}" for text in _about_settings(settings)]
    if link.forward.mtu != link.backward.mtu:
        found.append(
            f"link {link.name}: packets up to {link.forward.mtu} bytes one way and {link.backward.mtu} the other"
        )
    if not (link.forward.up and link.backward.up):
        found.append(f"link {link.name}: down from the start; paths avoid it")
    return list(dict.fromkeys(found))


def _about_settings(settings: LinkSettings) -> list[str]:
    """Warnings about the settings of one direction."""
    found = []
    if settings.reorder and not settings.latency_ms:
        found.append("reordering has no effect without latency, since a packet overtakes by skipping it")
    widest = _WIDEST_JITTER[settings.jitter_shape]
    if settings.jitter_ms > settings.latency_ms * widest:
        share = "a third of the latency" if settings.jitter_shape == "normal" else "the latency"
        found.append(f"jitter exceeds {share}: delays are cut off at zero, so the mean will be higher")
    if settings.loss >= 1.0:
        found.append("loses every packet")
    bandwidth = settings.bandwidth_bps
    if bandwidth is not None and bandwidth > _FASTEST_BPS:
        found.append(f"{Bandwidth(bandwidth)} is more than the fabric moves on usual machines")
    queue = min(
        settings.queue_bytes if settings.queue_bytes is not None else float("inf"),
        settings.usual_queue * settings.mtu if settings.usual_queue is not None else float("inf"),
    )
    if bandwidth is not None and queue * 8 / bandwidth > _LONGEST_QUEUE_S:
        full = "without end" if queue == float("inf") else f"for {queue * 8 / bandwidth:.3g} s"
        found.append(f"a full queue delays packets {full} at {Bandwidth(bandwidth)}; set a smaller queue")
    return found


def _offered_bps(producer: Producer) -> float | None:
    """The load of a producer in bits a second; None if it is unknown."""
    rate, size = producer.rate, producer.size
    if rate is None:
        return None
    if isinstance(rate, ByteRate):
        return float(rate) * 8 * producer.instances
    if size is None or size.mean is None:
        return None
    return float(rate) * float(size.mean) * 8 * producer.instances


def _parts(network: Network) -> list[list[str]]:
    """The hosts of each connected part of the network. Hosts without links have a warning of their own."""
    leader = {name: name for name in (*(host.name for host in network.hosts), *network.switches)}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    linked = set()
    for link in network.links:
        linked |= {link.a, link.b}
        leader[find(link.a)] = find(link.b)
    parts: dict[str, list[str]] = {}
    for host in network.hosts:
        if host.name in linked:
            parts.setdefault(find(host.name), []).append(host.name)
    return list(parts.values())


def _some(names: Sequence[str], shown: int = _SHOWN, sep: str = ", ") -> str:
    more = len(names) - shown
    return sep.join(names[:shown]) + (f" and {more} more" if more > 0 else "")
