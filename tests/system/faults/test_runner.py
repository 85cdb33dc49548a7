"""The runner on a real network: on time, and everything is as planned afterwards."""

from __future__ import annotations

import time

from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.plan.planned import PlannedFault, Window
from stream2gym.wait import wait_until
from tests.support.planned_faults import NoConditions, checked
from tests.system.faults.scene import PATIENCE_S, STAR, Scene


def test_the_runner_does_all_in_time_and_leaves_nothing_behind(scene: Scene) -> None:
    t0 = time.monotonic_ns() + 100_000_000
    windows = tuple(Window(n * 0.05, n * 0.05 + 0.025) for n in range(20))
    faults = [
        PlannedFault("cut", "down", ("h1 -- s1",), {}, windows),
        PlannedFault("slow", "degrade", ("h1 -- s1",), {"latency": "9 ms"}, (Window(0.2, 5.0),)),
    ]

    runner = FaultRunner(
        map(checked, faults), scene.context, scene.tell, NoConditions(), t0_ns=t0, end_ns=t0 + 10**11, seed=1
    )
    wait_until(lambda: len(scene.events) >= 41, timeout_s=PATIENCE_S, reason="every fault to happen")
    runner.close()

    timed = [one for one in scene.events if not one.get("at_end")]
    late = sorted((one["at_ns"] - one["planned_ns"]) / 1e6 for one in timed)
    print(f"late by ms: p50 {late[len(late) // 2]:.2f}, max {late[-1]:.2f}")
    assert late[0] >= 0
    assert scene.reaches("h1", "h2")
    assert scene.context.links.settings("h1 -- s1")[0] == STAR["h1 -- s1"]


def test_closing_undoes_what_is_in_force(scene: Scene) -> None:
    with scene.runner("down", "h1 -- s1", 600.0):
        scene.wait_for("fault-applied")
        during = scene.answers("h1", "h2")

    [healed] = scene.told("fault-healed")
    assert (during, healed["at_end"]) == (0, True)
    assert scene.reaches("h1", "h2")
