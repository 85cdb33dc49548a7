"""What faults of hosts do: without power, squeezed, short of memory, without room on the disk."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from stream2gym.hosts import cgroups
from tests.support.network import Lab, network
from tests.system.faults.scene import PATIENCE_S, STAR, Scene, until

NO_ROOM = 28
FILL = (
    "import os,sys\n"
    "try:\n"
    "    with open('/tmp/work/fill', 'wb') as file:\n"
    "        for _ in range(64): file.write(bytes(1 << 20)); file.flush()\n"
    "except OSError as error: sys.exit(error.errno)\n"
)
SPIN = "while True: pass"
# The child works, and its parent waits for it.
CHILD_SPINS = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"
# Asks for more when it is told to, by a file.
GREEDY = (
    "import os, time\n"
    "open('/tmp/work/there', 'w').close()\n"
    "while not os.path.exists('/tmp/work/more'): time.sleep(0.05)\n"
    "data = [bytearray(os.urandom(1 << 20)) for _ in range(200)]\n"
    "open('/tmp/work/full', 'w').close()\n"
    "time.sleep(600)\n"
)


@contextmanager
def limited(kind: str) -> Iterator[Scene]:
    """A network whose h1 can be squeezed."""
    if not cgroups.find_controllers()[kind].works:
        pytest.skip(f"no {kind} limits here")
    with Lab(network(STAR), limitable={"h1": {kind}}) as lab:
        yield Scene(lab)


def test_a_host_without_power_is_silent_and_its_processes_come_back(scene: Scene) -> None:
    sleeper = scene.sleeper("broker-d", "h4")

    with scene.fault("host-off", "h4"):
        assert until(lambda: not sleeper.running)
        during = scene.answers("h1", "h4")

    assert during == 0
    assert sleeper.running
    assert scene.reaches("h1", "h4")
    assert not scene.wiped


def test_a_host_may_come_back_without_its_data(scene: Scene) -> None:
    scene.sleeper("broker-d", "h4")

    with scene.fault("host-off", "h4", data="wipe"):
        pass

    assert scene.wiped == ["broker-d"]


def test_a_full_disk_takes_no_more_until_there_is_room_again(scene: Scene) -> None:
    scene.sleeper("broker-c", "h3")

    with scene.fault("disk-full", "h3", leave="4 MiB"):
        full = scene.code("h3", FILL)

    assert (full, scene.code("h3", FILL)) == (NO_ROOM, 0)


@pytest.mark.parametrize("program", [SPIN, CHILD_SPINS], ids=["itself", "its child"])
def test_a_squeezed_host_computes_less(program: str) -> None:
    share = 0.05
    with limited("cpu") as scene:
        process = scene.lab.emulation.spawn("h1", [sys.executable, "-c", program])

        def busy(seconds: float) -> float:
            before = scene.lab.emulation.usage()[process.number]["cpu_s"]
            began = time.monotonic()
            time.sleep(seconds)
            return (scene.lab.emulation.usage()[process.number]["cpu_s"] - before) / (time.monotonic() - began)

        limit = share * (os.cpu_count() or 1) * 1.6
        assert until(lambda: busy(0.5) > limit)
        with scene.fault("cpu", "h1", share=f"{share:%}"):
            squeezed = busy(1.0)

        assert squeezed <= limit
        assert until(lambda: busy(0.5) > squeezed)


def test_a_planned_cpu_limit_can_be_lifted_until_the_software_has_started() -> None:
    if not cgroups.find_controllers()["cpu"].works:
        pytest.skip("no cpu limits here")
    share = 0.05
    plan = network(STAR)
    hosts = tuple(replace(host, cpu_share=share) if host.name == "h1" else host for host in plan.hosts)
    with Lab(replace(plan, hosts=hosts)) as lab:
        process = lab.emulation.spawn("h1", [sys.executable, "-c", SPIN])

        def busy(seconds: float) -> float:
            before, began = lab.emulation.usage()[process.number]["cpu_s"], time.monotonic()
            time.sleep(seconds)
            return (lab.emulation.usage()[process.number]["cpu_s"] - before) / (time.monotonic() - began)

        limit = share * (os.cpu_count() or 1) * 1.6
        assert busy(1.0) <= limit
        lab.emulation.limits.lift_cpu()
        assert until(lambda: busy(0.5) > limit)
        lab.emulation.limits.restore_cpu()
        assert until(lambda: busy(1.0) <= limit)


def test_a_host_short_of_memory_loses_who_needs_more_and_starts_it_again() -> None:
    with limited("memory") as scene:
        sleeper = scene.sleeper("broker-m", "h1", GREEDY)
        first = sleeper.handle
        assert first is not None
        until(lambda: scene.code("h1", exists("there")) == 0)

        with scene.fault("memory", "h1", limit="64 MiB"):
            scene.code("h1", "open('/tmp/work/more', 'w')")
            how = first.wait(PATIENCE_S)

        assert str(how) == "killed by SIGKILL"
        assert not scene.told("died")
        assert sleeper.running
        assert sleeper.handle is not first
        assert until(lambda: scene.code("h1", exists("full")) == 0)


def exists(name: str) -> str:
    return f"import os, sys; sys.exit(not os.path.exists('/tmp/work/{name}'))"
