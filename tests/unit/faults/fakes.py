"""A context without a network: links that are a dictionary, processes that are a flag, a clock that is a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stream2gym.faults.action import FaultContext
from stream2gym.faults.link_changes import ActiveLinkChanges
from stream2gym.faults.occurrences import FaultTimeline
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PlannedFault, PlannedHost, PlannedLink, Routing
from stream2gym.spec.model import Experiment
from tests.support.planned_faults import checked


class FakeFabric:
    """Keeps what it is told."""

    def __init__(self, network: Network) -> None:
        self.links = {link.name: (link.forward, link.backward) for link in network.links}
        self.ends = {link.name: (link.a, link.b) for link in network.links}
        self.blocked: frozenset[tuple[str, str]] = frozenset()

    def set_links(self, changes: dict[str, tuple[LinkSettings | None, LinkSettings | None]]) -> None:
        for link, (forward, backward) in changes.items():
            old = self.links[link]
            self.links[link] = (forward or old[0], backward or old[1])

    def block(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.blocked = frozenset(pairs)

    def move(self, link: str, a: str, b: str) -> None:
        self.ends[link] = (a, b)

    def up(self, link: str) -> tuple[bool, bool]:
        return (self.links[link][0].up, self.links[link][1].up)


class FakeProcess:
    def __init__(self) -> None:
        self.alive = True

    def poll(self) -> object | None:
        return None if self.alive else 0


class FakeComponentProcess:
    """A process that lives, dies and stands still at once."""

    def __init__(self, component: str) -> None:
        self.component = component
        self.handle = FakeProcess()
        self.paused = False
        self.expected = ""
        self.starts = 1

    @property
    def running(self) -> bool:
        return self.handle.alive

    @property
    def state(self) -> str:
        return "running" if self.running else "stopped"

    def kill(self) -> None:
        self.handle.alive = False
        self.paused = False

    ask_to_stop = send_kill = kill

    def restart(self) -> None:
        if not self.handle.alive:
            self.handle.alive = True
            self.expected = ""
            self.starts += 1

    def wait_for_restart(self) -> None: ...

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def expect_end(self, why: str = "stop") -> None:
        self.expected = why

    def expect_running(self) -> None:
        self.expected = ""


class FakePart:
    def __init__(self, name: str, kind: str, host: str) -> None:
        self.name, self.kind, self.host = name, kind, host
        self.processes = [FakeComponentProcess(name)]

    @property
    def state(self) -> tuple[bool, bool]:
        return (self.processes[0].running, self.processes[0].paused)


class FakeTargetHosts:
    def __init__(self) -> None:
        self.limits: dict[tuple[str, str], float] = {}
        self.full: set[str] = set()
        self.off: list[str] = []

    def limit(self, host: str, *, cpu_share: float | None = None, memory_bytes: int | None = None) -> None:
        name, wanted = ("cpu", cpu_share) if cpu_share is not None else ("memory", memory_bytes)
        self.limits[host, name] = float(wanted or 0)

    def unlimit(self, host: str, name: str) -> None:
        self.limits.pop((host, name), None)

    def power_off(self, host: str) -> None:
        self.off.append(host)

    def fill_disk(self, host: str, leave_bytes: int) -> None:
        self.full.add(host)

    def free_disk(self, host: str) -> None:
        self.full.discard(host)


class Scene:
    """Hosts h1..h5 at s1 (h5 at s2 behind it), a component a host, faults on a clock of their own."""

    def __init__(self, *, load_s: float = 60.0, seed: int = 1) -> None:
        plain = LinkSettings(latency_ms=1.0, bandwidth_bps=1e9)
        names = [("h1", "s1"), ("h2", "s1"), ("h3", "s1"), ("h4", "s1"), ("h5", "s2"), ("s1", "s2")]
        self.network = Network(
            hosts=tuple(PlannedHost(f"h{n}", f"10.0.0.{n}", "eth0") for n in range(1, 6)),
            switches=("s1", "s2"),
            links=tuple(PlannedLink(f"{a} -- {b}", a, b, 1, 1, plain, plain) for a, b in names),
            routing=Routing(),
            seed=seed,
        )
        self.fabric = FakeFabric(self.network)
        kinds = {"h1": "broker", "h2": "broker", "h3": "broker", "h4": "producer", "h5": "consumer"}
        self.parts = {f"{kind}-{host}": FakePart(f"{kind}-{host}", kind, host) for host, kind in kinds.items()}
        self.hosts = FakeTargetHosts()
        self.wiped: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.now = 0
        self.context = FaultContext(
            network=self.network,
            links=ActiveLinkChanges(self.network, self.fabric),  # type: ignore[arg-type]
            components=lambda: self.parts,  # type: ignore[arg-type, return-value]
            experiment=Experiment(),
            hosts=self.hosts,
            wipe=self.wiped.append,
        )
        self.timeline = FaultTimeline(
            self.context,
            self._tell,
            t0_ns=0,
            end_ns=round(load_s * 1e9),
            seed=seed,
            clock=lambda: self.now,
        )

    def _tell(self, kind: str, **details: Any) -> None:
        self.events.append({"event": kind, **details})

    def add(self, *faults: PlannedFault) -> None:
        for fault in faults:
            self.timeline.add(checked(fault))

    def go(self, to_s: float) -> None:
        """Let time pass, stopping at every moment at which something is due."""
        end = round(to_s * 1e9)
        while (due := self.timeline.next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            self.timeline.run_due(self.now)
        self.now = end

    def told(self, *kinds: str) -> list[tuple[str, str]]:
        return [(one["event"], one["fault"]) for one in self.events if not kinds or one["event"] in kinds]

    def state(self) -> dict[str, Any]:
        """Everything that faults may have changed."""
        return {
            "links": dict(self.fabric.links),
            "ends": dict(self.fabric.ends),
            "blocked": self.fabric.blocked,
            "parts": {name: part.state for name, part in self.parts.items()},
            "expected": {name: part.processes[0].expected for name, part in self.parts.items()},
            "limits": dict(self.hosts.limits),
            "full": set(self.hosts.full),
        }
