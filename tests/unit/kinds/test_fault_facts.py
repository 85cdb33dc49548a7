"""What a kind of fault declares about itself is what plan and analysis go by, also for a plug-in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.fidelity import assess_fidelity
from stream2gym.analysis.inputs import read_inputs
from stream2gym.analysis.latency_floors import LatencyFloors
from stream2gym.analysis.time_series import read_tracks
from stream2gym.hosts.limits import limitable_hosts
from stream2gym.kinds import plugins
from stream2gym.kinds.fault_settings import HOST, LINK
from stream2gym.kinds.kind import Kind
from stream2gym.kinds.registry import registry
from stream2gym.plan.fault_clashes import find_clashes
from stream2gym.plan.planned import PlannedFault, Window

PLAIN = Kind("fault", "plain", "from outside", BaseModel, targets=HOST)
SQUEEZE = Kind(
    "fault", "squeeze", "from outside", BaseModel,
    targets=HOST, exclusive=True, holds_up="cpu", limits=frozenset(("cpu",)), shortens_latency=False,
)  # fmt: skip
BOOST = Kind("fault", "boost", "from outside", BaseModel, targets=LINK, shortens_latency=True)
MUTE = Kind("fault", "mute", "from outside", BaseModel, targets=LINK, shortens_latency=False)


@pytest.fixture(autouse=True)
def _install(monkeypatch: pytest.MonkeyPatch) -> Any:
    class Entry:
        def __init__(self, kind: Kind) -> None:
            self.name, self.value = kind.name, f"{kind.name}_package:X"
            self.load = lambda: kind

    def find(group: str) -> list[Entry]:
        return [Entry(kind) for kind in (PLAIN, SQUEEZE, BOOST, MUTE)] if group == "stream2gym.faults" else []

    monkeypatch.setattr(plugins, "entry_points", find)
    registry.cache_clear()
    yield
    monkeypatch.undo()
    registry.cache_clear()


def planned(name: str, kind: str, on: str) -> PlannedFault:
    return PlannedFault(name=name, kind=kind, on=(on,), windows=(Window(1.0, 5.0),))


def fake_run(**parts: Any) -> FakeRun:
    links = [f"{host} -- s1: 10 ms" for host in ("h1", "h2")]
    topology = {"hosts": ["h1", "h2"], "switches": ["s1"], "links": links}
    producers = [{"name": "gen", "on": "h1", "topic": "in", "rate": "100/s"}]
    brokers = [{"name": "broker", "on": "h2"}]
    return FakeRun(10.0, brokers=brokers, topics=[{"name": "in"}], producers=producers, topology=topology, **parts)


@pytest.mark.parametrize(
    ("kind", "floor_s"),
    [("down", 0.04), ("degrade", 0.0), ("ramp", 0.0), ("move", 0.0), ("boost", 0.0), ("mute", 0.04),
     ("plain", 0.0), ("of-a-plug-in-that-is-not-here", 0.0)],
)  # fmt: skip
def test_latency_has_a_floor_only_where_no_fault_can_have_lowered_it(
    kind: str, floor_s: float, tmp_path: Path
) -> None:
    run = fake_run()
    run.event("fault-applied", 2.0, fault="f", do=kind, on=["h1"])
    inputs = read_inputs(run.write(tmp_path / "run"))
    assert LatencyFloors(inputs).acknowledgement_s("gen") == pytest.approx(floor_s)


@pytest.mark.parametrize(("kind", "excused"), [("cpu", True), ("squeeze", True), ("kill", False), ("plain", False)])
def test_waits_for_a_cpu_are_excused_where_the_fault_says_that_it_causes_them(
    kind: str, excused: bool, tmp_path: Path
) -> None:
    run = fake_run()
    waited_s = 0.0
    for number in range(-2, 24):
        at_s = number / 2
        run.sample(at_s, "fabric", "lateness", "packets", 100)
        run.sample(at_s, "process", "broker", "cpu_s", 0.05 * (number + 3))
        waited_s += 0.4 if 2.0 < at_s <= 4.0 else 0.0
        run.sample(at_s, "process", "broker", "cpu_wait_s", waited_s)
    run.event("fault-applied", 2.0, fault="f", do=kind, on=["h2"])
    run.event("fault-healed", 4.0, fault="f", do=kind, on=["h2"])
    inputs = read_inputs(run.write(tmp_path / "run"))
    found = assess_fidelity(inputs, read_tracks(inputs))
    assert (found.suspect == ()) is excused


@pytest.mark.parametrize(("kind", "clash"), [("cpu", True), ("squeeze", True), ("isolate", False), ("plain", False)])
def test_two_faults_clash_on_a_host_where_their_kind_takes_it_for_itself(kind: str, clash: bool) -> None:
    assert bool(find_clashes([planned("a", kind, "h1"), planned("b", kind, "h1")], ())) is clash
    assert not find_clashes([planned("a", kind, "h1"), planned("b", kind, "h2")], ())


def test_a_host_gets_room_for_the_limits_that_a_fault_sets(tmp_path: Path) -> None:
    plan = read_inputs(fake_run().write(tmp_path / "run")).plan
    faults = (planned("f", "squeeze", "h1"), planned("g", "memory", "h2"), planned("h", "plain", "h2"))
    assert limitable_hosts(replace(plan, faults=faults)) == {"h1": {"cpu"}, "h2": {"memory"}}
