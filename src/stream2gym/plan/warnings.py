"""What is allowed but probably not meant: said in the plan, never in the way of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream2gym.link import LinkSettings
from stream2gym.plan.cast import Member
from stream2gym.plan.model import Network, PathView, PlannedLink
from stream2gym.plan.paths import Ways
from stream2gym.spec.model import Producer
from stream2gym.units import Bandwidth, ByteRate

_FASTEST_BPS = 10e9  # more than this the userspace fabric does not move
_LONGEST_QUEUE_S = 5.0
_SHOWN = 5


def about_network(network: Network) -> list[str]:
    """Links, hosts and shares that look wrong by themselves."""
    found = [text for link in network.links for text in _about_link(link)]
    linked = {end for link in network.links for end in (link.a, link.b)}
    lonely = [host.name for host in network.hosts if host.name not in linked]
    if lonely and len(network.hosts) > 1:
        found.append(f"no link leads to {_some(lonely)}")
    parts = _parts(network)
    if len(parts) > 1:
        shown = "; ".join(_some(part, 3) for part in parts[:_SHOWN])
        found.append(f"the network falls into {len(parts)} parts that never meet: {shown}")
    share = sum(host.cpu_share or 0.0 for host in network.hosts)
    if share > 1.0 + 1e-9:
        found.append(f"hosts ask for {share:.0%} of the processors together: they cannot all have it at once")
    return found


def about_paths(ways: Ways, paths: Iterable[PathView]) -> list[str]:
    """Pairs without a way, and packets that do not fit into a link on their way."""
    views = list(paths)
    found = []
    cut_off = [f"{view.source} and {view.target}" for view in views if not view.nodes]
    if cut_off:
        found.append(f"there is no path between {_some(cut_off, sep='; ')}")
    mtu = {host.name: host.mtu for host in ways.network.hosts}
    narrow: dict[tuple[str, int], list[str]] = {}
    for view in views:
        for source, target in ((view.source, view.target), (view.target, view.source)):
            for hop in ways.path(source, target) or ():
                [settings] = ways.settings([hop])
                if settings.mtu < mtu[source]:
                    narrow.setdefault((hop.link, settings.mtu), []).append(f"{source} to {target}")
    for (link, size), users in narrow.items():
        found.append(
            f"link {link} takes packets up to {size} bytes, hosts that send over it larger ones "
            f"({_some(users, 3)}): those are fragmented or dropped"
        )
    return found


def about_load(
    ways: Ways, cast: Iterable[Member], hosts: dict[str, str], brokers: Sequence[str]
) -> list[str]:
    """Producers that offer more than the path to a broker carries."""
    found = []
    for member in cast:
        if not isinstance(member.component, Producer):
            continue
        offered = _offered_bps(member.component)
        source = hosts[member.name]
        for broker in dict.fromkeys(hosts[name] for name in brokers):
            path = ways.path(source, broker)
            limits = [s.bandwidth_bps for s in ways.settings(path or ()) if s.bandwidth_bps is not None]
            if offered and limits and offered > min(limits):
                found.append(
                    f"{member.name} offers {Bandwidth(offered)} of payload, but the path from {source} to "
                    f"{broker} carries {Bandwidth(min(limits))}"
                )
                break
    return found


def _about_link(link: PlannedLink) -> list[str]:
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
    found = []
    if settings.reorder and not settings.latency_ms:
        found.append("reordering has no effect without latency, since a packet overtakes by skipping it")
    if settings.jitter_ms > settings.latency_ms:
        found.append("jitter exceeds latency: delays are cut off at zero, so the mean will be higher")
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
    rate, size = producer.rate, producer.size
    if rate is None:
        return None
    if isinstance(rate, ByteRate):
        return float(rate) * 8 * producer.instances
    if size is None or size.mean is None:
        return None
    return float(rate) * float(size.mean) * 8 * producer.instances


def _parts(network: Network) -> list[list[str]]:
    """Hosts by connected part of the graph; hosts without links are told of elsewhere."""
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
