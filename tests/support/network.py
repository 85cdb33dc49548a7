"""Small networks for tests, and a laboratory that runs traffic programs on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stream2gym.fabric.protocol import FabricStats, LinkCounters
from stream2gym.hosts import probing
from stream2gym.hosts.emulation import start_network
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PlannedHost, PlannedLink, Routing

Ends = LinkSettings | tuple[LinkSettings, LinkSettings]  # both directions, or forward and backward
PORT = 7000
PATIENCE_S = 300.0
_PROBE_NICENESS = -10 if os.geteuid() == 0 else 0  # what else runs on the machine is not what is measured


def link_ends(name: str) -> tuple[str, str]:
    """The two nodes in the name of a link."""
    a, b = name.split(" -- ")
    return a, b


def network(links: Mapping[str, Ends], *, seed: int = 1, mtu: int = 1500, **routing: Any) -> Network:
    """Links by name; hN are hosts with the address 10.0.0.N, everything else is a switch."""
    ends = {name: link_ends(name) for name in links}
    nodes = sorted({node for pair in ends.values() for node in pair})
    pairs = {name: both if isinstance(both, tuple) else (both, both) for name, both in links.items()}
    return Network(
        hosts=tuple(PlannedHost(node, f"10.0.0.{node[1:]}", "eth0", mtu) for node in nodes if node.startswith("h")),
        switches=tuple(node for node in nodes if not node.startswith("h")),
        links=tuple(PlannedLink(name, *ends[name], 1, 1, *pairs[name]) for name in links),
        routing=Routing(**routing),
        seed=seed,
        observer=PlannedHost("observer", "10.255.255.254", "eth0"),
    )


def address(host: str) -> str:
    return "10.255.255.254" if host == "observer" else f"10.0.0.{host[1:]}"


class Probe(probing.Probe):
    """A traffic program on a host; a test waits for it as long as a busy machine may take."""

    def line(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        return super().line(timeout_s)

    def result(self) -> dict[str, Any]:
        """The next line and an orderly end."""
        said = self.line()
        assert self.process.wait(PATIENCE_S).code == 0
        self.close()
        return said


class Lab:
    """A running network with a handful of measurements."""

    def __init__(self, plan: Network, *, device: str = "auto", offload: bool = True, **options: Any) -> None:
        self.emulation = start_network(plan, device=device, offload=offload, **options)  # type: ignore[arg-type]
        self.fabric = self.emulation.fabric
        self._probes: list[Probe] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        for probe in self._probes:
            probe.close()
        self.emulation.close()

    def probe(self, host: str, *arguments: object) -> Probe:
        probe = Probe(self.emulation, host, *arguments, niceness=_PROBE_NICENESS)
        self._probes.append(probe)
        return probe

    def program(self, host: str, text: str, *arguments: str, **options: Any) -> Probe:
        """A Python program of the test's own that speaks JSON lines."""
        probe = Probe(self.emulation, host, *arguments, text=text, niceness=_PROBE_NICENESS, **options)
        self._probes.append(probe)
        return probe

    def server(self, host: str, *arguments: object) -> Probe:
        """A program that listens, once it does."""
        probe = self.probe(host, *arguments, "--port", PORT)
        assert probe.line()["ready"]
        return probe

    def ping(self, source: str, target: str, **options: object) -> dict[str, Any]:
        """UDP echo; starts the server on the target."""
        server = self.server(target, "echo-server")
        try:
            return self.client("udp-ping", source, target, **options).result()
        finally:
            server.process.signal(9)
            server.process.wait(5)

    def client(self, program: str, source: str, target: str, **options: object) -> Probe:
        words: list[object] = [program, address(target)]
        if program != "icmp-ping":
            words += ["--port", PORT]
        for name, value in options.items():
            words.append("--" + name.replace("_", "-"))
            if value is not True:
                words.append(value)
        return self.probe(source, *words)

    def datagrams(self, source: str, target: str, *, list: bool = False, **options: object) -> dict[str, Any]:
        """Numbered datagrams one way; what the receiver saw."""
        more = ["--list"] if list else []
        receiver = self.server(target, "udp-receive", "--idle-s", 0.25, *more)
        self.client("udp-send", source, target, **options).result()
        return receiver.result()

    def goodput_mbps(self, source: str, target: str, seconds: float, skip_s: float = 0.3) -> float:
        """One TCP stream."""
        receiver = self.server(target, "tcp-receive", "--skip-s", skip_s)
        sender = self.client("tcp-send", source, target, seconds=seconds)
        speed = receiver.result()["mbps"]
        sender.result()
        return float(speed)

    def counters(self, link: str, direction: str = "forward", stats: FabricStats | None = None) -> LinkCounters:
        found = (stats or self.fabric.stats()).links
        return next(one for one in found if (one.link, one.direction) == (link, direction))


def assert_counters_add_up(stats: FabricStats) -> None:
    """Nothing that entered a link is unaccounted for."""
    for one in stats.links:
        left = one.delivered_packets + sum(one.dropped.values()) + one.in_flight_packets
        assert one.entered_packets == left, one


def fabric_process() -> Path:
    """The /proc folder of the one fabric process among our descendants."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == "s2g-fabric" and _is_ours(int(folder.name)):
                found.append(folder)
        except OSError:
            continue  # it ended while we looked
    assert len(found) == 1
    return found[0]


def _is_ours(pid: int) -> bool:
    while pid > 1 and pid != os.getpid():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == os.getpid()
