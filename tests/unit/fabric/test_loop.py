"""The loop over sockets that stand for devices: what it knows about packets that waited, and about full devices."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from stream2gym.fabric.protocol import FabricStats
from stream2gym.fabric.userspace import loop
from stream2gym.fabric.userspace.control import stats_of
from stream2gym.fabric.userspace.loop import Loop
from stream2gym.fabric.userspace.packet_engine import PacketEngine, Port
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PlannedHost, PlannedLink, Routing
from tests.unit.fabric.packets import udp

RING = 100


class Scene:
    """Two hosts over one link, moved by a loop in a thread of its own; the test holds the hosts' ends."""

    def __init__(self, settings: LinkSettings) -> None:
        names = ("h1", "h2")
        pairs = {name: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for name in names}
        self.ends = {name: pair[0] for name, pair in pairs.items()}
        self._devices = {name: pair[1] for name, pair in pairs.items()}
        for device in self._devices.values():
            device.setblocking(False)
        network = Network(
            hosts=tuple(PlannedHost(name, f"10.0.0.{name[1:]}", "eth0") for name in names),
            switches=(),
            links=(PlannedLink("h1 -- h2", "h1", "h2", 1, 1, settings, settings),),
            routing=Routing(),
            seed=1,
        )
        fds = {name: device.fileno() for name, device in self._devices.items()}
        self.busy_s: list[float] = []
        self.engine = PacketEngine(network, fds, write=self._write)
        self.control, self._theirs = socket.socketpair()
        self.loop = Loop(self.engine, self._theirs, RING, is_preemptible=True)
        self._thread = threading.Thread(target=self.loop.run, args=(lambda: False,))

    def _write(self, fd: int, data: bytes) -> int:
        """Hand a packet over; the loop is busy with it for the time that the test asked for."""
        if self.busy_s:
            time.sleep(self.busy_s.pop(0))
        return os.write(fd, data)

    def port(self, name: str) -> Port:
        return self.engine.ports[self._devices[name].fileno()]

    def send(self, count: int = 1) -> None:
        for _ in range(count):
            self.ends["h1"].send(udp(b"x"))

    def receive(self, count: int = 1) -> None:
        self.ends["h2"].settimeout(10)
        for _ in range(count):
            self.ends["h2"].recv(2048)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> FabricStats:
        """End the loop; what it counted."""
        self.control.send(b"end")
        self._thread.join(10)
        assert not self._thread.is_alive()
        return stats_of(self.engine.stats())

    def close(self) -> None:
        for one in (*self.ends.values(), *self._devices.values(), self.control, self._theirs):
            one.close()


@pytest.fixture
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    # The loop takes standard input's descriptor for itself.
    standard_input = os.dup(0)
    made = Scene(getattr(request, "param", LinkSettings()))
    yield made
    made.close()
    os.dup2(standard_input, 0)
    os.close(standard_input)


BOTH = pytest.mark.parametrize("scene", [LinkSettings(), LinkSettings(latency_ms=5)], indirect=True)


@BOTH
def test_a_packet_that_waited_because_the_loop_was_busy_is_late_by_its_wait(scene: Scene) -> None:
    scene.start()
    scene.busy_s = [0.05]
    scene.send(2)
    scene.receive(2)
    seen = scene.stop().lateness
    assert sum(seen.counts) == 2
    assert 45_000 < seen.max_us < 500_000


@BOTH
def test_a_wait_does_not_count_for_the_packets_after_it(scene: Scene) -> None:
    scene.start()
    scene.busy_s = [0.4]
    scene.send(2)
    scene.receive(2)
    for _ in range(20):
        scene.send()
        scene.receive()
    seen = scene.stop().lateness
    late = sum(count for bound, count in zip(seen.bounds_us, seen.counts, strict=True) if bound > 300_000)
    # The one that waited, the one that may have come meanwhile, and no long row of those after them.
    assert late <= 3


@BOTH
def test_a_packet_for_which_the_loop_slept_is_not_late(scene: Scene) -> None:
    scene.start()
    for _ in range(5):
        time.sleep(0.2)
        scene.send()
        scene.receive()
    seen = scene.stop().lateness
    early = sum(count for bound, count in zip(seen.bounds_us, seen.counts, strict=True) if bound < 100_000)
    assert early >= 4


@BOTH
def test_the_time_in_which_a_woken_loop_waited_for_a_cpu_is_part_of_the_wait(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits_ns = itertools.count(0, 30_000_000)
    monkeypatch.setattr(loop, "read_run_delay_ns", lambda _fd: next(waits_ns))
    scene.start()
    time.sleep(0.04)
    scene.send()
    scene.receive()
    seen = scene.stop().lateness
    assert 30_000 < seen.max_us < 500_000


def test_packets_that_stood_in_the_device_before_the_loop_looked_are_late_by_that(scene: Scene) -> None:
    scene.send(3)
    time.sleep(0.05)
    scene.start()
    scene.receive(3)
    seen = scene.stop().lateness
    assert sum(count for bound, count in zip(seen.bounds_us, seen.counts, strict=True) if bound > 45_000) == 3


@pytest.mark.parametrize("packets", [RING, RING + 1, RING + 17, 2 * RING - 1])
def test_a_device_that_may_have_been_full_is_suspect_whatever_the_last_batch_was(scene: Scene, packets: int) -> None:
    scene.send(packets)
    scene.start()
    scene.receive(packets)
    scene.stop()
    assert scene.port("h1").suspect
    assert not scene.port("h2").suspect


def test_a_device_that_was_never_full_is_not_suspect(scene: Scene) -> None:
    scene.start()
    for _ in range(5):
        scene.send(RING // 2)
        scene.receive(RING // 2)
        time.sleep(0.01)
    scene.stop()
    assert not scene.port("h1").suspect


def test_the_ring_bounds_the_wait_where_a_device_is_never_seen_empty(scene: Scene) -> None:
    """Each packet keeps the loop busy for a while, and there are always others in the device."""
    total, waiting = 10 * RING, RING - 10
    scene.busy_s = [0.0005] * total
    scene.send(waiting)
    began = time.monotonic()
    scene.start()
    for _ in range(total - waiting):
        scene.receive()
        scene.send()
    scene.receive(waiting)
    took_us = (time.monotonic() - began) * 1e6
    seen = scene.stop()
    assert scene.port("h1").suspect
    # About two ring lengths of ten; without that bound, the last packet would have waited for all of the time.
    assert took_us / 20 < seen.lateness.max_us < took_us / 2
