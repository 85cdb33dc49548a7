"""The engine on a clock and devices of the test's own."""

from __future__ import annotations

import pytest

from stream2gym.errors import BadInput
from stream2gym.fabric.protocol import FabricStats
from stream2gym.fabric.userspace.control import stats_of
from stream2gym.fabric.userspace.packet_engine import PacketEngine, Port
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PlannedHost, PlannedLink, Routing
from tests.support.network import link_ends
from tests.unit.fabric.packets import tcp_burst, udp

MS = 1_000_000


class EngineBench:
    """A network whose devices are lists."""

    def __init__(
        self, links: dict[str, LinkSettings], *, reconverge_ms: float | None = None, by: str = "hops"
    ) -> None:
        ends = {name: link_ends(name) for name in links}
        names = sorted({node for pair in ends.values() for node in pair})
        hosts = [name for name in names if name.startswith("h")]
        network = Network(
            hosts=tuple(PlannedHost(name, f"10.0.0.{name[1:]}", "eth0") for name in hosts),
            switches=tuple(name for name in names if name.startswith("s")),
            links=tuple(PlannedLink(name, *ends[name], 1, 1, settings, settings) for name, settings in links.items()),
            routing=Routing(by=by, reconverge_ms=reconverge_ms),  # type: ignore[arg-type]
            seed=1,
            observer=PlannedHost("observer", "10.255.255.254", "eth0"),
        )
        devices = {name: 100 + number for number, name in enumerate([*hosts, "observer"])}
        self.names = {fd: name for name, fd in devices.items()}
        self.now = 1_000 * MS
        self.arrived: list[tuple[float, str, bytes]] = []
        self.engine = PacketEngine(network, devices, write=self.write, clock=lambda: self.now)
        self.start = self.now

    def write(self, fd: int, data: bytes) -> int:
        self.arrived.append(((self.now - self.start) / MS, self.names[fd], data[38:]))
        return len(data)

    def send(self, source: str, target: str, payload: bytes = b"x", port: int = 1, *, waited_ms: float = 0) -> None:
        """One datagram, read by the engine so long after its device was seen empty."""
        address = "10.255.255.254" if target == "observer" else f"10.0.0.{target[1:]}"
        sender = "10.255.255.254" if source == "observer" else f"10.0.0.{source[1:]}"
        data = udp(payload, source=sender, target=address, ports=(port, 2))
        entry = next(port for port in self.engine.ports.values() if port.name == source)
        self.enter(entry, data, waited_ms)

    def enter(self, port: Port, data: bytes, waited_ms: float = 0) -> None:
        port.seen_empty_ns = self.now - round(waited_ms * MS)
        self.engine.enter(port, data)

    def run(self, until_ms: float) -> None:
        """Advance to each due time in turn."""
        while self.engine.next_due() <= self.start + until_ms * MS:
            self.now = max(self.now, self.engine.next_due())
            self.engine.run_due(self.now)
        self.now = self.start + round(until_ms * MS)

    def sums(self) -> FabricStats:
        stats = stats_of(self.engine.stats())
        for link in stats.links:
            total = link.delivered_packets + sum(link.dropped.values()) + link.in_flight_packets
            assert link.entered_packets == total
        return stats


def test_latencies_of_a_path_add_up() -> None:
    bench = EngineBench({"h1 -- s1": LinkSettings(latency_ms=1), "h2 -- s1": LinkSettings(latency_ms=2)})
    bench.send("h1", "h2")
    bench.run(10)
    assert bench.arrived == [(3.0, "h2", b"x")]


def test_being_late_does_not_add_up_over_hops() -> None:
    bench = EngineBench({"h1 -- s1": LinkSettings(latency_ms=1), "h2 -- s1": LinkSettings(latency_ms=2)})
    bench.send("h1", "h2")
    bench.now += 3 * MS - 1  # nobody looked when it reached the switch
    bench.engine.run_due(bench.now)
    assert bench.arrived == []
    bench.run(3)
    assert [at for at, _, _ in bench.arrived] == [3.0]
    assert bench.sums().lateness.max_us == 0


def test_lateness_is_what_the_last_write_was_late_by() -> None:
    bench = EngineBench({"h1 -- h2": LinkSettings(latency_ms=1)})
    bench.send("h1", "h2")
    bench.now += 4 * MS
    bench.engine.run_due(bench.now)
    assert bench.sums().lateness.max_us == 3000


@pytest.mark.parametrize("latency_ms", [0, 5])
def test_the_wait_before_a_packet_was_read_counts_as_lateness(latency_ms: float) -> None:
    bench = EngineBench({"h1 -- s1": LinkSettings(latency_ms=latency_ms), "h2 -- s1": LinkSettings()})
    bench.send("h1", "h2", waited_ms=50)
    bench.run(20)
    assert len(bench.arrived) == 1
    assert bench.sums().lateness.max_us == 50_000


def test_a_wait_before_the_read_and_a_late_write_add_up() -> None:
    bench = EngineBench({"h1 -- h2": LinkSettings(latency_ms=1, bandwidth_bps=1e9)})
    bench.send("h1", "h2", waited_ms=7)
    bench.now = bench.engine.next_due() + 3 * MS
    bench.engine.run_due(bench.now)
    assert bench.sums().lateness.max_us == 10_000


BURST = tcp_burst(bytes(1448 * 40), 1448)  # 40 packets of 1500 bytes


def ends_of_pieces(bench: EngineBench, data: bytes = BURST) -> list[tuple[float, int]]:
    """When each piece of a burst reached the last host, and how many packets had arrived then."""
    bench.enter(bench.engine.ports[100], data)
    bench.run(100)
    found, packets = [], 0
    for at, _, payload in bench.arrived:
        packets += round(len(payload) / 1448)  # the TCP header is a small part of a segment
        found.append((at, packets))
    return found


@pytest.mark.parametrize(
    "mbps", [(100, 100, 100), (1000, 100, 1000), (100, 1000, 100), (100, None, 100), (50, 100, None)]
)
def test_a_burst_arrives_over_several_links_as_its_packets_alone_would(
    mbps: tuple[float | None, ...],
) -> None:
    names = ("h1 -- s1", "s1 -- s2", "h2 -- s2")
    links = {
        name: LinkSettings(latency_ms=1, bandwidth_bps=None if rate is None else rate * 1e6, queue_packets=1000)
        for name, rate in zip(names, mbps, strict=True)
    }
    found = ends_of_pieces(EngineBench(links))
    slowest = min(rate for rate in mbps if rate is not None)
    # Store and forward: the n-th packet takes n turns at the slowest link and one at each of the others.
    others = sum(12 / rate for rate in mbps if rate is not None) - 12 / slowest
    assert found[-1][1] == 40
    for at, packets in found:
        assert at == pytest.approx(3 + 12 * packets / slowest + others, abs=0.13)
        assert at >= 3 + 12 * packets / slowest + others - 0.001


def test_being_together_delays_a_burst_once_and_not_at_every_link() -> None:
    one = ends_of_pieces(EngineBench({"h1 -- h2": LinkSettings(bandwidth_bps=100e6)}))
    names = ["h1 -- s1", *(f"s{n} -- s{n + 1}" for n in range(1, 9)), "h2 -- s9"]
    ten = ends_of_pieces(EngineBench({name: LinkSettings(bandwidth_bps=100e6) for name in names}))
    assert [packets for _, packets in ten] == [packets for _, packets in one]
    for (near, _), (far, _) in zip(one, ten, strict=True):
        assert far - near == pytest.approx(9 * 0.12, abs=0.001)


def test_a_trickling_burst_leaves_a_fast_link_to_others_between_its_packets() -> None:
    slow, fast = LinkSettings(bandwidth_bps=100e6), LinkSettings(bandwidth_bps=1e9)
    bench = EngineBench({"h1 -- s1": slow, "h2 -- s1": fast, "h3 -- s1": fast})
    burst = bytearray(BURST)
    burst[10 + 16 : 10 + 20] = bytes([10, 0, 0, 2])
    bench.enter(bench.engine.ports[100], bytes(burst))
    bench.run(0.5)
    bench.send("h3", "h2", b"other".ljust(1472))
    bench.run(100)
    other = next(at for at, _, data in bench.arrived if data.startswith(b"other"))
    # Two links of 12 us, and the work of the piece that is being sent: eight packets of 12 us.
    assert other <= 0.5 + 0.024 + 0.096


def test_a_latency_that_falls_brings_no_packet_into_a_burst_on_its_way() -> None:
    bench = EngineBench({"h1 -- s1": LinkSettings(bandwidth_bps=100e6), "h2 -- s1": LinkSettings(latency_ms=50)})
    bench.enter(bench.engine.ports[100], BURST)
    bench.run(6)
    bench.engine.set_links({"h2 -- s1": (None, LinkSettings())})
    bench.send("h1", "h2", b"after")
    bench.run(200)
    assert bench.arrived[-1][2] == b"after"
    assert len(bench.arrived) == 6


def test_flows_of_different_latency_queue_in_the_order_they_meet() -> None:
    """A packet from far away must not keep the link busy before it is there."""
    bench = EngineBench(
        {
            "h1 -- s1": LinkSettings(latency_ms=100),
            "h2 -- s1": LinkSettings(latency_ms=1),
            "h3 -- s1": LinkSettings(bandwidth_bps=12e6),
        }
    )
    bench.send("h1", "h3", b"far".ljust(1472))
    bench.send("h2", "h3", b"near".ljust(1472))
    bench.run(200)
    assert [(at, data.strip()) for at, _, data in bench.arrived] == [(2.0, b"near"), (101.0, b"far")]


def test_packets_on_a_path_without_latency_pass_at_once_and_in_order() -> None:
    bench = EngineBench({"h1 -- s1": LinkSettings(), "h2 -- s1": LinkSettings()})
    bench.send("h1", "h2", b"1")
    bench.send("h1", "h2", b"2")
    bench.run(0)
    assert [data for _, _, data in bench.arrived] == [b"1", b"2"]


def test_a_link_that_loses_its_latency_keeps_the_order() -> None:
    bench = EngineBench({"h1 -- h2": LinkSettings(latency_ms=5)})
    bench.send("h1", "h2", b"1")
    bench.engine.set_links({"h1 -- h2": (LinkSettings(), None)})
    bench.send("h1", "h2", b"2")
    bench.run(10)
    assert [data for _, _, data in bench.arrived] == [b"1", b"2"]


def test_a_cut_drops_at_the_link_what_is_on_its_way_to_it() -> None:
    bench = EngineBench({"h1 -- s1": LinkSettings(latency_ms=5), "h2 -- s1": LinkSettings(latency_ms=5)})
    bench.send("h1", "h2", b"1")
    bench.run(6)
    bench.send("h1", "h2", b"2")
    bench.engine.cut("h2 -- s1", True)
    bench.run(20)
    assert [data for _, _, data in bench.arrived] == [b"1"]
    stats = bench.sums()
    assert [link.dropped for link in stats.links if link.dropped] == [{"down": 1}]


RING = {
    "h1 -- s1": LinkSettings(latency_ms=1),
    "s1 -- s2": LinkSettings(latency_ms=1),
    "s1 -- s3": LinkSettings(latency_ms=1),
    "s3 -- s2": LinkSettings(latency_ms=1),
    "h2 -- s2": LinkSettings(latency_ms=1),
}


def test_routes_go_around_a_cut_after_the_set_time_and_back_after_the_heal() -> None:
    bench = EngineBench(RING, reconverge_ms=50)
    bench.engine.cut("s1 -- s2", True)
    bench.send("h1", "h2", b"lost")
    bench.run(51)
    bench.send("h1", "h2", b"around")
    bench.run(60)
    assert bench.arrived == [(55.0, "h2", b"around")]
    bench.engine.cut("s1 -- s2", False)
    bench.run(120)
    bench.send("h1", "h2", b"back")
    bench.run(130)
    assert bench.arrived[1:] == [(123.0, "h2", b"back")]


def test_routes_stay_when_the_network_never_reconverges() -> None:
    bench = EngineBench(RING)
    bench.engine.cut("s1 -- s2", True)
    bench.run(5000)
    bench.send("h1", "h2")
    bench.run(6000)
    assert bench.arrived == []


def test_where_no_path_is_left_the_sender_is_told() -> None:
    bench = EngineBench(RING, reconverge_ms=0)
    bench.engine.cut("h2 -- s2", True)
    bench.run(1)
    bench.send("h1", "h2")
    assert [host for _, host, _ in bench.arrived] == ["h1"]
    assert bench.sums().no_route == 1
    assert bench.sums().unasked_drops == {}


def test_equal_paths_are_shared_by_flows_and_each_flow_stays_on_one() -> None:
    links = {name: LinkSettings(latency_ms=1) for name in RING} | {"s3 -- s2": LinkSettings(latency_ms=1)}
    links |= {"s1 -- s4": LinkSettings(latency_ms=1), "s4 -- s2": LinkSettings(latency_ms=1)}
    del links["s1 -- s2"]
    bench = EngineBench(links, by="ecmp")
    for port in range(1, 101):
        bench.send("h1", "h2", port=port)
        bench.send("h1", "h2", port=port)
    bench.run(100)
    counts = {(link.link, link.direction): link.entered_packets for link in bench.sums().links}
    one, other = counts["s1 -- s3", "forward"], counts["s1 -- s4", "forward"]
    assert one + other == 200
    assert min(one, other) >= 60
    assert one % 2 == 0


def test_the_observer_reaches_everybody_at_once_uncounted_and_through_cuts() -> None:
    bench = EngineBench({"h1 -- s1": LinkSettings(latency_ms=100), "h2 -- s1": LinkSettings(loss=1.0)})
    bench.engine.cut("h1 -- s1", True)
    bench.send("observer", "h1", b"hello")
    bench.send("h2", "observer", b"there")
    assert [(at, host, data) for at, host, data in bench.arrived] == [
        (0, "h1", b"hello"),
        (0, "observer", b"there"),
    ]
    assert bench.sums().links == ()


def test_what_is_not_ipv4_is_ignored_in_silence() -> None:
    bench = EngineBench({"h1 -- h2": LinkSettings()})
    port = next(iter(bench.engine.ports.values()))
    bench.engine.enter(port, bytes(10) + b"\x60" + bytes(60))
    bench.engine.enter(port, bytes(10) + b"\x45")
    stats = bench.sums()
    assert (bench.arrived, stats.no_route, stats.unasked_drops) == ([], 0, {})


def test_a_device_that_refuses_a_packet_is_an_unasked_drop() -> None:
    bench = EngineBench({"h1 -- h2": LinkSettings()})

    def refuse(fd: int, data: bytes) -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    bench.engine._write = refuse
    bench.send("h1", "h2")
    assert sum(bench.sums().unasked_drops.values()) == 1


def test_an_unknown_link_changes_nothing() -> None:
    bench = EngineBench({"h1 -- h2": LinkSettings()})
    with pytest.raises(BadInput, match="no such link"):
        bench.engine.set_links({"h1 -- h2": (LinkSettings(loss=1.0), None), "h1 -- h9": (None, None)})
    bench.send("h1", "h2")
    assert len(bench.arrived) == 1
