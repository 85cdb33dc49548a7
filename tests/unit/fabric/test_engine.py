"""The engine on a clock and devices of the test's own."""

from __future__ import annotations

import pytest
from packets import udp

from stream2gym.errors import BadInput
from stream2gym.fabric.protocol import FabricStats
from stream2gym.fabric.userspace.control import stats_of
from stream2gym.fabric.userspace.engine import Engine
from stream2gym.link import LinkSettings
from stream2gym.plan.model import Network, PlannedHost, PlannedLink, Routing

MS = 1_000_000


class World:
    """A network whose devices are lists."""

    def __init__(
        self, links: dict[str, LinkSettings], *, reconverge_ms: float | None = None, by: str = "hops"
    ) -> None:
        ends = {name: tuple(name.split(" -- ")) for name in links}
        names = sorted({node for pair in ends.values() for node in pair})
        hosts = [name for name in names if name.startswith("h")]
        network = Network(
            hosts=tuple(PlannedHost(name, f"10.0.0.{name[1:]}", "eth0") for name in hosts),
            switches=tuple(name for name in names if name.startswith("s")),
            links=tuple(
                PlannedLink(name, *ends[name], 1, 1, settings, settings) for name, settings in links.items()
            ),
            routing=Routing(by=by, reconverge_ms=reconverge_ms),  # type: ignore[arg-type]
            seed=1,
            observer=PlannedHost("observer", "10.255.255.254", "eth0"),
        )
        devices = {name: 100 + number for number, name in enumerate([*hosts, "observer"])}
        self.names = {fd: name for name, fd in devices.items()}
        self.now = 1_000 * MS
        self.arrived: list[tuple[float, str, bytes]] = []
        self.engine = Engine(network, devices, write=self.write, clock=lambda: self.now)
        self.start = self.now

    def write(self, fd: int, data: bytes) -> int:
        self.arrived.append(((self.now - self.start) / MS, self.names[fd], data[38:]))
        return len(data)

    def send(self, source: str, target: str, payload: bytes = b"x", port: int = 1) -> None:
        address = "10.255.255.254" if target == "observer" else f"10.0.0.{target[1:]}"
        sender = "10.255.255.254" if source == "observer" else f"10.0.0.{source[1:]}"
        data = udp(payload, source=sender, target=address, ports=(port, 2))
        entry = next(port for port in self.engine.ports.values() if port.name == source)
        self.engine.enter(entry, data)

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
    world = World({"h1 -- s1": LinkSettings(latency_ms=1), "h2 -- s1": LinkSettings(latency_ms=2)})
    world.send("h1", "h2")
    world.run(10)
    assert world.arrived == [(3.0, "h2", b"x")]


def test_being_late_does_not_add_up_over_hops() -> None:
    world = World({"h1 -- s1": LinkSettings(latency_ms=1), "h2 -- s1": LinkSettings(latency_ms=2)})
    world.send("h1", "h2")
    world.now += 3 * MS - 1  # nobody looked when it reached the switch
    world.engine.run_due(world.now)
    assert world.arrived == []
    world.run(3)
    assert [at for at, _, _ in world.arrived] == [3.0]
    assert world.sums().lateness.max_us == 0


def test_lateness_is_what_the_last_write_was_late_by() -> None:
    world = World({"h1 -- h2": LinkSettings(latency_ms=1)})
    world.send("h1", "h2")
    world.now += 4 * MS
    world.engine.run_due(world.now)
    assert world.sums().lateness.max_us == 3000


def test_flows_of_different_latency_queue_in_the_order_they_meet() -> None:
    """A packet from far away must not keep the link busy before it is there."""
    world = World(
        {
            "h1 -- s1": LinkSettings(latency_ms=100),
            "h2 -- s1": LinkSettings(latency_ms=1),
            "h3 -- s1": LinkSettings(bandwidth_bps=12e6),
        }
    )
    world.send("h1", "h3", b"far".ljust(1472))
    world.send("h2", "h3", b"near".ljust(1472))
    world.run(200)
    assert [(at, data.strip()) for at, _, data in world.arrived] == [(2.0, b"near"), (101.0, b"far")]


def test_packets_on_a_path_without_latency_pass_at_once_and_in_order() -> None:
    world = World({"h1 -- s1": LinkSettings(), "h2 -- s1": LinkSettings()})
    world.send("h1", "h2", b"1")
    world.send("h1", "h2", b"2")
    world.run(0)
    assert [data for _, _, data in world.arrived] == [b"1", b"2"]


def test_a_link_that_loses_its_latency_keeps_the_order() -> None:
    world = World({"h1 -- h2": LinkSettings(latency_ms=5)})
    world.send("h1", "h2", b"1")
    world.engine.set_links({"h1 -- h2": (LinkSettings(), None)})
    world.send("h1", "h2", b"2")
    world.run(10)
    assert [data for _, _, data in world.arrived] == [b"1", b"2"]


def test_a_cut_drops_at_the_link_what_is_on_its_way_to_it() -> None:
    world = World({"h1 -- s1": LinkSettings(latency_ms=5), "h2 -- s1": LinkSettings(latency_ms=5)})
    world.send("h1", "h2", b"1")
    world.run(6)
    world.send("h1", "h2", b"2")
    world.engine.cut("h2 -- s1", True)
    world.run(20)
    assert [data for _, _, data in world.arrived] == [b"1"]
    stats = world.sums()
    assert [link.dropped for link in stats.links if link.dropped] == [{"down": 1}]


RING = {
    "h1 -- s1": LinkSettings(latency_ms=1),
    "s1 -- s2": LinkSettings(latency_ms=1),
    "s1 -- s3": LinkSettings(latency_ms=1),
    "s3 -- s2": LinkSettings(latency_ms=1),
    "h2 -- s2": LinkSettings(latency_ms=1),
}


def test_routes_go_around_a_cut_after_the_set_time_and_back_after_the_heal() -> None:
    world = World(RING, reconverge_ms=50)
    world.engine.cut("s1 -- s2", True)
    world.send("h1", "h2", b"lost")
    world.run(51)
    world.send("h1", "h2", b"around")
    world.run(60)
    assert world.arrived == [(55.0, "h2", b"around")]
    world.engine.cut("s1 -- s2", False)
    world.run(120)
    world.send("h1", "h2", b"back")
    world.run(130)
    assert world.arrived[1:] == [(123.0, "h2", b"back")]


def test_routes_stay_when_the_network_never_reconverges() -> None:
    world = World(RING)
    world.engine.cut("s1 -- s2", True)
    world.run(5000)
    world.send("h1", "h2")
    world.run(6000)
    assert world.arrived == []


def test_where_no_path_is_left_the_sender_is_told() -> None:
    world = World(RING, reconverge_ms=0)
    world.engine.cut("h2 -- s2", True)
    world.run(1)
    world.send("h1", "h2")
    assert [host for _, host, _ in world.arrived] == ["h1"]
    assert world.sums().no_route == 1
    assert world.sums().unasked_drops == {}


def test_equal_paths_are_shared_by_flows_and_each_flow_stays_on_one() -> None:
    links = {name: LinkSettings(latency_ms=1) for name in RING} | {"s3 -- s2": LinkSettings(latency_ms=1)}
    links |= {"s1 -- s4": LinkSettings(latency_ms=1), "s4 -- s2": LinkSettings(latency_ms=1)}
    del links["s1 -- s2"]
    world = World(links, by="ecmp")
    for port in range(1, 101):
        world.send("h1", "h2", port=port)
        world.send("h1", "h2", port=port)
    world.run(100)
    counts = {(link.link, link.direction): link.entered_packets for link in world.sums().links}
    one, other = counts["s1 -- s3", "forward"], counts["s1 -- s4", "forward"]
    assert one + other == 200
    assert min(one, other) >= 60
    assert one % 2 == 0


def test_the_observer_reaches_everybody_at_once_uncounted_and_through_cuts() -> None:
    world = World({"h1 -- s1": LinkSettings(latency_ms=100), "h2 -- s1": LinkSettings(loss=1.0)})
    world.engine.cut("h1 -- s1", True)
    world.send("observer", "h1", b"hello")
    world.send("h2", "observer", b"there")
    assert [(at, host, data) for at, host, data in world.arrived] == [
        (0, "h1", b"hello"),
        (0, "observer", b"there"),
    ]
    assert world.sums().links == ()


def test_what_is_not_ipv4_is_ignored_in_silence() -> None:
    world = World({"h1 -- h2": LinkSettings()})
    port = next(iter(world.engine.ports.values()))
    world.engine.enter(port, bytes(10) + b"\x60" + bytes(60))
    world.engine.enter(port, bytes(10) + b"\x45")
    stats = world.sums()
    assert (world.arrived, stats.no_route, stats.unasked_drops) == ([], 0, {})


def test_a_device_that_refuses_a_packet_is_an_unasked_drop() -> None:
    world = World({"h1 -- h2": LinkSettings()})

    def refuse(fd: int, data: bytes) -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    world.engine._write = refuse
    world.send("h1", "h2")
    assert sum(world.sums().unasked_drops.values()) == 1


def test_an_unknown_link_changes_nothing() -> None:
    world = World({"h1 -- h2": LinkSettings()})
    with pytest.raises(BadInput, match="no such link"):
        world.engine.set_links({"h1 -- h2": (LinkSettings(loss=1.0), None), "h1 -- h9": (None, None)})
    world.send("h1", "h2")
    assert len(world.arrived) == 1
