"""A real emulated network with sleeping components, and what faults are measured with on it. No JVM.

Whatever stalls the machine makes packets late, never early, and never brings through what is cut: what must arrive is
waited for, what must not is looked at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.faults.action import Action, FaultContext
from stream2gym.faults.action_classes import action_class
from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.faults.link_changes import ActiveLinkChanges
from stream2gym.kinds.registry import registry
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import PlannedFault, Window
from stream2gym.spec.model import Experiment
from stream2gym.wait import wait_until
from tests.support.network import Lab, address
from tests.support.planned_faults import NoConditions, checked

PATIENCE_S = 60.0
STAR = {f"h{n} -- s1": LinkSettings(latency_ms=1) for n in range(1, 6)} | {"s1 -- s2": LinkSettings(latency_ms=5)}
# Every host tells every other its name for a while; each prints whom it heard.
CHATTER = """
import json, socket, sys, time
mine, peers, start = sys.argv[1], sys.argv[2].split(","), float(sys.argv[3])
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("", 7100))
sock.settimeout(0.02)
heard = set()
time.sleep(max(0.0, start - time.monotonic()))
end = time.monotonic() + 0.8
while time.monotonic() < end:
    for peer in peers:
        try:
            sock.sendto(mine.encode(), (peer, 7100))
        except OSError:
            pass
    try:
        while True:
            heard.add(sock.recv(100).decode())
    except OSError:
        pass
print(json.dumps({"heard": sorted(heard - {mine})}), flush=True)
"""


class Part:
    """A component with one process."""

    kind = "broker"

    def __init__(
        self, scene: Scene, name: str, host: str, argv: list[str], policy: RestartPolicy | None = None
    ) -> None:
        self.name, self.host = name, host
        launch = lambda _start: scene.lab.emulation.spawn(host, argv, name=name)  # noqa: E731
        self.processes = [ComponentProcess(name, host, launch, scene.tell, policy=policy)]
        self.processes[0].start()


class Scene:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.events: list[dict[str, Any]] = []
        self.parts: dict[str, Part] = {}
        self.wiped: list[str] = []
        self.context = FaultContext(
            network=lab.emulation.network,
            links=ActiveLinkChanges(lab.emulation.network, lab.fabric),
            components=lambda: self.parts,
            experiment=Experiment(),
            hosts=lab.emulation,
            wipe=self.wiped.append,
        )

    def tell(self, kind: str, **details: Any) -> None:
        self.events.append({"event": kind, "now": time.monotonic_ns(), **details})

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]

    def sleeper(self, name: str, host: str, program: str = "import time; time.sleep(600)") -> ComponentProcess:
        """A component with one process that runs a Python program."""
        self.parts[name] = Part(self, name, host, [sys.executable, "-S", "-E", "-c", program])
        return self.parts[name].processes[0]

    def apply(self, kind: str, *hit: str, **settings: object) -> Action:
        found = registry("fault").find(kind)
        assert found is not None
        action = action_class(kind)(found.settings.model_validate(settings), hit, None)
        action.apply(self.context)
        action.step(self.context, 0.0)
        return action

    @contextmanager
    def fault(self, kind: str, *hit: str, **settings: object) -> Iterator[None]:
        """In force meanwhile."""
        action = self.apply(kind, *hit, **settings)
        try:
            yield
        finally:
            action.undo(self.context)
            self.settle()

    @contextmanager
    def runner(self, kind: str, on: str, seconds: float, **settings: object) -> Iterator[FaultRunner]:
        """The fault on its own clock, as in a run, from now on."""
        t0 = time.monotonic_ns()
        fault = PlannedFault("fault", kind, (on,), dict(settings), (Window(0.0, seconds),))
        end_ns = t0 + round((seconds + PATIENCE_S) * 1e9)
        made = FaultRunner([checked(fault)], self.context, self.tell, NoConditions(), t0_ns=t0, end_ns=end_ns, seed=1)
        try:
            yield made
        finally:
            made.close()
            self.settle()

    def settle(self) -> None:
        """Wait for what is being started again."""
        for part in self.parts.values():
            for process in part.processes:
                process.wait_for_restart()

    def wait_for(self, kind: str) -> None:
        wait_until(lambda: self.told(kind), timeout_s=PATIENCE_S, reason=kind)

    def answers(self, source: str, target: str) -> int:
        """How many of five pings are answered."""
        return int(self.lab.ping(source, target, count=5, interval_ms=5, wait_s=0.3)["received"])

    def reaches(self, source: str, target: str) -> bool:
        return until(lambda: self.answers(source, target) == 5)

    def round_trip(self, source: str, target: str, *, at_least: float, below: float) -> bool:
        """Whether the quickest of some pings takes this many ms."""

        def fits() -> bool:
            quickest = self.lab.ping(source, target, count=10, interval_ms=5)["rtt_ms"]["min"]
            assert quickest >= at_least, f"{quickest} ms"
            return float(quickest) < below

        return until(fits)

    def trips(self, count: int, wait_s: float) -> list[float | None]:
        """Round trips from h1 to h2 in ms, a ping every 10 ms; None for what never came back."""
        return list(self.lab.ping("h1", "h2", count=count, interval_ms=10, wait_s=wait_s, list=True)["rtts_ms"])

    def hears(self, hosts: Sequence[str]) -> dict[str, set[str]]:
        """Who hears whom among these hosts."""
        start = str(time.monotonic() + 0.6)
        peers = ",".join(map(address, hosts))
        talking = {host: self.lab.program(host, CHATTER, host, peers, start) for host in hosts}
        return {host: set(probe.result()["heard"]) for host, probe in talking.items()}

    def settles(self, wanted: dict[str, set[str]]) -> dict[str, set[str]]:
        """Who hears whom, looked at until all have heard whom they should; nobody ever hears more."""
        hosts = list(wanted)
        seen = self.hears(hosts)
        for _ in range(5):
            if seen == wanted or any(seen[host] - wanted[host] for host in hosts):
                break
            again = self.hears(hosts)
            seen = {host: seen[host] | again[host] for host in hosts}
        return seen

    def code(self, host: str, program: str) -> int:
        """The exit code of a Python program on a host."""
        argv = [sys.executable, "-S", "-E", "-c", program]
        return self.lab.emulation.spawn(host, argv).wait(PATIENCE_S).code

    def close(self) -> None:
        for part in self.parts.values():
            for process in part.processes:
                process.kill()


def until(condition: Callable[[], bool]) -> bool:
    wait_until(condition, timeout_s=PATIENCE_S, reason="what was asked for")
    return True


def everyone(hosts: Sequence[str]) -> dict[str, set[str]]:
    """All hear all others."""
    return {host: {*hosts} - {host} for host in hosts}
