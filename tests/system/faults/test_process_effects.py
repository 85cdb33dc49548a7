"""What faults of components do to real processes: killed, stopped, paused, restarted, dying again and again."""

from __future__ import annotations

import time

from stream2gym.components.component_process import ComponentProcess
from tests.system.faults.scene import PATIENCE_S, Scene, until

SPIN = "while True: pass"
STUBBORN = (
    "import signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open('/tmp/work/deaf', 'w').close()\n"
    "time.sleep(600)\n"
)


def used(scene: Scene, sleeper: ComponentProcess) -> float:
    """CPU seconds of its process."""
    assert sleeper.handle is not None
    return scene.lab.emulation.usage()[sleeper.handle.number]["cpu_s"]


def test_a_killed_process_is_gone_and_comes_back(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-a", "h1")
    first = sleeper.handle

    with scene.fault("kill", "broker-a"):
        assert first is not None
        how = first.wait(PATIENCE_S)

    assert str(how) == "killed by SIGKILL"
    assert sleeper.running
    assert sleeper.handle is not first
    assert not scene.told("died")


def test_a_stopped_process_ends_by_itself(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-a", "h1")

    with scene.runner("stop", "broker-a", 1.0):
        first = sleeper.handle
        assert first is not None
        assert str(first.wait(PATIENCE_S)) == "killed by SIGTERM"
        scene.wait_for("fault-healed")

    assert sleeper.running
    assert [event["why"] for event in scene.told("stopped")] == ["stop"]


def test_a_process_that_ignores_the_request_is_killed_after_its_time(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-a", "h1", STUBBORN)
    look = "import os, sys; sys.exit(not os.path.exists('/tmp/work/deaf'))"
    until(lambda: scene.code("h1", look) == 0)

    with scene.runner("stop", "broker-a", 600.0, timeout="300 ms"):
        scene.wait_for("stopped")

    assert sleeper.handle is not None
    assert scene.told("stopped")[0]["how"] == "killed by SIGKILL"


def test_a_paused_process_stands_still(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-b", "h1", SPIN)
    until(lambda: used(scene, sleeper) > 0.05)

    with scene.fault("pause", "broker-b"):
        before = used(scene, sleeper)
        time.sleep(0.3)
        during = used(scene, sleeper) - before

    assert until(lambda: used(scene, sleeper) > before + 0.05)
    assert during <= 0.02


def test_a_restarted_process_is_another_one_and_has_lost_its_data_where_asked(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-a", "h1")
    first = sleeper.handle
    with scene.runner("restart", "broker-a", 0.0, down="200 ms"):
        scene.wait_for("fault-healed")
    second = sleeper.handle
    kept = list(scene.wiped)
    scene.events.clear()
    with scene.runner("restart", "broker-a", 0.0, orderly=True, data="wipe"):
        scene.wait_for("fault-healed")

    assert first is not None
    assert second is not None
    assert (str(first.poll()), str(second.poll())) == ("killed by SIGKILL", "killed by SIGTERM")
    assert sleeper.running
    assert (kept, scene.wiped) == ([], ["broker-a"])


def test_a_crash_loop_dies_again_and_again_and_ends_alive(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-a", "h1")

    with scene.runner("crash-loop", "broker-a", 2.0, up="300 ms", down="200 ms"):
        scene.wait_for("fault-healed")

    deaths = [event for event in scene.told("stopped") if event["why"] == "kill"]
    assert len(deaths) >= 2
    assert sleeper.starts == len(deaths) + 1
    assert sleeper.running
    assert not scene.told("died")


def test_a_fault_of_what_is_dead_already_is_an_event_with_the_reason(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-a", "h1", "raise SystemExit(3)")
    until(lambda: sleeper.state == "died")

    with scene.runner("pause", "broker-a", 1.0):
        scene.wait_for("fault-failed")

    [failed] = scene.told("fault-failed")
    assert (failed["what"], failed["reason"]) == ("apply", "broker-a is not running")
