"""What faults do to a real emulated network and to real processes on it, measured. No JVM."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from stream2gym.components.unit import Unit
from stream2gym.faults.actions import action_class
from stream2gym.faults.base import Action, World
from stream2gym.faults.linkbook import LinkBook
from stream2gym.faults.runner import FaultRunner
from stream2gym.hosts import cgroups
from stream2gym.hosts.emulation import start_network
from stream2gym.kinds.registry import registry
from stream2gym.link import LinkSettings
from stream2gym.plan.model import PlannedFault, Window
from stream2gym.spec.model import Experiment
from stream2gym.wait import wait_until
from tests.support.network import Lab, network

LINKS = {f"h{n} -- s1": LinkSettings(latency_ms=1) for n in (1, 2, 3, 4)} | {
    "s1 -- s2": LinkSettings(latency_ms=5)
}
FILL = (
    "import os,sys\n"
    "try:\n"
    "    with open('/tmp/work/fill', 'wb') as file:\n"
    "        for _ in range(64): file.write(bytes(1 << 20)); file.flush()\n"
    "except OSError as error: sys.exit(error.errno)\n"
)


class Part:
    """A component that sleeps."""

    kind = "broker"

    def __init__(self, scene: Scene, name: str, host: str, argv: list[str]) -> None:
        self.name, self.host = name, host
        launch = lambda _start: scene.lab.emulation.spawn(host, argv, name=name)  # noqa: E731
        self.units = [Unit(name, host, launch, scene.tell)]
        self.units[0].start()


class Scene:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.events: list[dict[str, Any]] = []
        self.parts: dict[str, Part] = {}
        self.world = World(
            network=lab.emulation.network,
            links=LinkBook(lab.emulation.network, lab.fabric),
            components=lambda: self.parts,  # type: ignore[arg-type, return-value]
            experiment=Experiment(),
            machines=lab.emulation,
        )

    def tell(self, kind: str, **details: Any) -> None:
        self.events.append({"event": kind, "now": time.monotonic_ns(), **details})

    def sleeper(self, name: str, host: str, program: str = "import time; time.sleep(600)") -> Part:
        self.parts[name] = Part(self, name, host, [sys.executable, "-c", program])
        return self.parts[name]

    def apply(self, kind: str, *hit: str, **settings: object) -> Action:
        found = registry("fault").find(kind)
        assert found is not None
        action = action_class(kind)(found.settings.model_validate(settings), hit, None)
        action.apply(self.world)
        action.step(self.world, 0.0)
        return action

    def answers(self, source: str, target: str) -> int:
        """How many of five pings are answered."""
        return int(self.lab.ping(source, target, count=5, interval_ms=5, wait_s=0.3)["received"])


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(network(LINKS)) as made:
        yield made


@pytest.fixture
def scene(lab: Lab) -> Iterator[Scene]:
    made = Scene(lab)
    yield made
    for part in made.parts.values():
        for unit in part.units:
            unit.kill()


def test_a_link_that_is_down_carries_nothing_until_it_is_healed(scene: Scene) -> None:
    action = scene.apply("down", "h1 -- s1")
    during = scene.answers("h1", "h2")
    action.undo(scene.world)

    assert (during, scene.answers("h1", "h2")) == (0, 5)


def test_a_degraded_link_is_slower_by_what_was_asked(scene: Scene) -> None:
    before = scene.lab.ping("h1", "h2", count=10, interval_ms=5)["rtt_ms"]["p50"]
    action = scene.apply("degrade", "h1 -- s1", latency="21 ms", ways="forward")
    during = scene.lab.ping("h1", "h2", count=10, interval_ms=5)["rtt_ms"]["p50"]
    action.undo(scene.world)
    after = scene.lab.ping("h1", "h2", count=10, interval_ms=5)["rtt_ms"]["p50"]

    assert during - before == pytest.approx(20, abs=4)
    assert after - before == pytest.approx(0, abs=4)


def test_a_partition_parts_hosts_at_one_switch_and_nobody_else(scene: Scene) -> None:
    action = scene.apply("partition", groups=[["h1"], ["h2"]])
    blocked_before = scene.lab.fabric.stats().blocked
    parted, others = scene.answers("h1", "h2"), scene.answers("h1", "h3")
    blocked = scene.lab.fabric.stats().blocked - blocked_before
    action.undo(scene.world)

    assert (parted, others, scene.answers("h1", "h2")) == (0, 5, 5)
    assert blocked >= 5


def test_a_one_way_partition_lets_the_other_way_through(scene: Scene) -> None:
    action = scene.apply("partition", groups=[["h1"], ["h2"]], one_way=True)
    before = scene.lab.fabric.stats().blocked
    scene.lab.client("udp-send", "h1", "h2", count=20, rate=500).result()
    stopped = scene.lab.fabric.stats().blocked - before
    back = scene.lab.datagrams("h2", "h1", count=20, rate=500)["received"]
    action.undo(scene.world)

    assert (stopped, back) == (20, 20)


def test_an_isolated_host_and_a_dead_switch_reach_nobody(scene: Scene) -> None:
    alone = scene.apply("isolate", "h1")
    isolated = scene.answers("h1", "h2"), scene.answers("h2", "h3")
    alone.undo(scene.world)
    dead = scene.apply("switch-down", "s1")
    dark = scene.answers("h2", "h3")
    dead.undo(scene.world)

    assert (isolated, dark, scene.answers("h1", "h2")) == ((0, 5), 0, 5)


def test_a_host_that_moved_is_farther_away_and_comes_back(scene: Scene) -> None:
    before = scene.lab.ping("h1", "h2", count=10, interval_ms=5)["rtt_ms"]["p50"]
    action = scene.apply("move", "h1", to="s2")
    moved = scene.lab.ping("h1", "h2", count=10, interval_ms=5)["rtt_ms"]["p50"]
    action.undo(scene.world)
    after = scene.lab.ping("h1", "h2", count=10, interval_ms=5)["rtt_ms"]["p50"]

    assert moved - before == pytest.approx(10, abs=3)
    assert after - before == pytest.approx(0, abs=3)


def test_a_killed_process_is_gone_and_comes_back(scene: Scene) -> None:
    unit = scene.sleeper("broker-a", "h1").units[0]
    first = unit.process

    action = scene.apply("kill", "broker-a")
    assert first is not None
    how = first.poll()
    action.undo(scene.world)

    assert str(how) == "killed by SIGKILL"
    assert unit.running
    assert unit.process is not first
    assert "died" not in [one["event"] for one in scene.events]


def test_a_paused_process_stands_still(scene: Scene) -> None:
    unit = scene.sleeper("broker-b", "h1", "import time\nwhile True: pass").units[0]

    def used() -> float:
        assert unit.process is not None
        return scene.lab.emulation.usage()[unit.process.number]["cpu_s"]

    wait_until(lambda: used() > 0.05, timeout_s=10, reason="the loop to run")
    action = scene.apply("pause", "broker-b")
    before = used()
    time.sleep(0.3)
    during = used() - before
    action.undo(scene.world)
    wait_until(lambda: used() > before + 0.05, timeout_s=10, reason="the loop to go on")

    assert during <= 0.02


def test_a_full_disk_takes_no_more_until_there_is_room_again(scene: Scene) -> None:
    scene.sleeper("broker-c", "h3")

    def fill() -> int:
        return scene.lab.emulation.spawn("h3", [sys.executable, "-c", FILL]).wait(20).code

    action = scene.apply("disk-full", "h3", leave="4 MiB")
    full = fill()
    action.undo(scene.world)

    assert (full, fill()) == (28, 0)


def test_a_host_without_power_is_silent_and_its_processes_come_back(scene: Scene) -> None:
    unit = scene.sleeper("broker-d", "h4").units[0]

    action = scene.apply("host-off", "h4")
    during = (unit.running, scene.answers("h1", "h4"))
    action.undo(scene.world)

    assert during == (False, 0)
    assert (unit.running, scene.answers("h1", "h4")) == (True, 5)


def test_a_squeezed_host_computes_less() -> None:
    if not cgroups.find_controllers()["cpu"].works:
        pytest.skip("no CPU limits here")
    with start_network(network(LINKS), squeezable={"h1": {"cpu"}}) as emulation:
        process = emulation.spawn("h1", [sys.executable, "-c", "while True: pass"])
        share = 0.05

        def busy(seconds: float) -> float:
            before = emulation.usage()[process.number]["cpu_s"]
            began = time.monotonic()
            time.sleep(seconds)
            return (emulation.usage()[process.number]["cpu_s"] - before) / (time.monotonic() - began)

        emulation.limit("h1", cpu_share=share)
        squeezed = busy(1.0)
        emulation.unlimit("h1", "cpu")
        free = busy(0.5)

    assert squeezed <= share * (os.cpu_count() or 1) * 1.6
    assert free > squeezed


def test_the_runner_is_on_time_and_leaves_nothing_behind(scene: Scene) -> None:
    t0 = time.monotonic_ns() + 100_000_000
    windows = tuple(Window(n * 0.05, n * 0.05 + 0.025) for n in range(20))
    faults = [
        PlannedFault("cut", "down", ("h1 -- s1",), {}, windows),
        PlannedFault("slow", "degrade", ("h1 -- s1",), {"latency": "9 ms"}, (Window(0.2, 5.0),)),
    ]

    class Blind:
        def number(self, name: str) -> float | None:
            return None

        def who_is(self, role: str) -> str | None:
            return None

    runner = FaultRunner(faults, scene.world, scene.tell, Blind(), t0_ns=t0, end_ns=t0 + 10**10, seed=1)
    wait_until(lambda: len(scene.events) >= 41, timeout_s=20, reason="every fault to happen")
    runner.close()

    late = sorted((one["at_ns"] - one["planned_ns"]) / 1e6 for one in scene.events if "planned_ns" in one)
    print(f"late by ms: p50 {late[len(late) // 2]:.2f}, max {late[-1]:.2f}")
    assert late[len(late) // 2] < 20
    assert scene.answers("h1", "h2") == 5
    assert scene.world.links.settings("h1 -- s1")[0] == LINKS["h1 -- s1"]
