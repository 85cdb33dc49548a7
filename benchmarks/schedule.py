"""How punctual faults are: planned against applied, p50 and max, idle and under load, of links and of processes.

    ./s2g bench schedule [SECONDS]

A star of six hosts without Kafka. Faults are planned at random moments, ten a second, some of them at the same one,
and each is undone a tenth of a second later; a row is the time from the planned moment until the deed (or its undo)
began, and until a fault was in force. Busy is one spinning program and a stream of datagrams; saturated, which is
stated and not judged, is twice as many spinning programs as the machine has cores.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from random import Random
from typing import Any

from benchmarks.nets import PORT, network_of
from benchmarks.table import Table
from stream2gym.components.component_process import ComponentProcess
from stream2gym.faults.action import FaultContext
from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.faults.link_changes import ActiveLinkChanges
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.hosts.probing import Probe
from stream2gym.kinds.registry import registry
from stream2gym.plan.fault_schedule import plan_without_times
from stream2gym.plan.planned import PlannedFault, Window
from stream2gym.spec.model import Experiment, Fault
from stream2gym.wait import wait_until
from tests.support.planned_faults import NoConditions

HOSTS = [f"h{n}" for n in range(1, 7)]
GOAL_MS = 20.0
LEAD_S = 0.5
SLOT_S = 0.4  # in each slot every kind happens once
LINK_FAULTS: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("down", "h1 -- s1", {}),
    ("degrade", "* -- s1", {"latency": "20 ms", "loss": "1 %"}),
    ("isolate", "h2", {}),
    ("partition", "h*", {"shape": "majority"}),
)
PROCESS_FAULTS: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("pause", "sleeper-h1", {}),
    ("kill", "sleeper-h2", {}),
    ("stop", "sleeper-h3", {}),
    ("pause", "sleeper-h4", {}),
)
SPIN = "while True: pass"
REST = "import time\ntime.sleep(3600)"


class Sleeper:
    """A component that does nothing."""

    kind = "broker"

    def __init__(self, net: EmulatedNetwork, host: str) -> None:
        self.name, self.host = f"sleeper-{host}", host
        argv = [sys.executable, "-S", "-E", "-c", REST]
        self.processes = [
            ComponentProcess(self.name, host, lambda _start: net.spawn(host, argv), lambda _event, **_more: None)
        ]
        self.processes[0].start()


def main() -> int:
    seconds = next((float(word) for word in sys.argv[1:] if not word.startswith("-")), 10.0)
    table = Table("Punctuality of faults")
    with start_network(network_of(HOSTS, [f"{host} -- s1: 1 ms, 1 Gbps" for host in HOSTS], ["s1"])) as net:
        parts = {part.name: part for part in (Sleeper(net, host) for host in HOSTS[:4])}
        for load in ("idle", "busy", "saturated"):
            with loaded(net, load, seconds):
                for what, faults in (("links", LINK_FAULTS), ("processes", PROCESS_FAULTS)):
                    name, judged = f"{what}, {load}", load != "saturated"
                    measure(table, net, parts, what=name, kinds=faults, seconds=seconds, judged=judged)
    return table.finish()


@contextmanager
def loaded(net: EmulatedNetwork, load: str, seconds: float) -> Iterator[None]:
    """Programs on the hosts that keep the machine busy meanwhile."""
    spinning = {"idle": 0, "busy": 1, "saturated": 2 * (os.cpu_count() or 1)}[load]
    with ExitStack() as undo:
        for number in range(spinning):
            host = HOSTS[number % len(HOSTS)]
            process = net.spawn(host, [sys.executable, "-S", "-E", "-c", SPIN])
            undo.callback(process.wait, 10)
            undo.callback(process.signal, 9)
        if spinning:
            receiver = undo.enter_context(Probe(net, "h6", "udp-receive", "--port", PORT, "--idle-s", 60))
            receiver.line()
            count = round(2 * (seconds + 10) * 1000)
            undo.enter_context(Probe(net, "h5", "udp-send", "h6", "--port", PORT, "--count", count, "--rate", 1000))
        yield


def measure(
    table: Table,
    net: EmulatedNetwork,
    parts: dict[str, Sleeper],
    *,
    what: str,
    kinds: Sequence[tuple[str, str, dict[str, Any]]],
    seconds: float,
    judged: bool,
) -> None:
    events: list[dict[str, Any]] = []
    fault_context = FaultContext(
        network=net.network,
        links=ActiveLinkChanges(net.network, net.fabric),
        components=lambda: parts,
        experiment=Experiment(),
        hosts=net,
    )
    faults = planned(kinds, seconds)
    deeds = sum(2 * len(fault.windows) for fault in faults)
    t0 = time.monotonic_ns() + round(LEAD_S * 1e9)
    runner = FaultRunner(
        faults, fault_context, lambda event, **more: events.append({"event": event, **more}), NoConditions(),
        t0_ns=t0, end_ns=t0 + round((seconds + 60) * 1e9), seed=1,
    )  # fmt: skip
    try:
        wait_until(lambda: len(events) >= deeds, timeout_s=seconds + 60, reason="every fault to happen")
    finally:
        runner.close()
    failed = [event for event in events if event["event"] == "fault-failed"]
    began = sorted((one["at_ns"] - one["planned_ns"]) / 1e6 for one in events if one["event"] != "fault-failed")
    done = sorted(
        (one["at_ns"] - one["planned_ns"]) / 1e6 + one["took_ms"] for one in events if one["event"] == "fault-applied"
    )
    fits = None if not judged else began[-1] <= GOAL_MS and not failed
    table.add(
        f"{what}: deeds began after their time",
        f"p50 {middle(began):.2f} ms, max {began[-1]:.2f} ms",
        f"within {GOAL_MS:g} ms" if judged else "",
        f"{len(began)} deeds; in force p50 {middle(done):.2f} ms, max {done[-1]:.2f} ms",
        fits,
    )


def planned(kinds: Sequence[tuple[str, str, dict[str, Any]]], seconds: float) -> list[PlannedFault]:
    """Each kind in one slot after the other, somewhere in it; every fourth slot all at the same moment."""
    rng = Random(1)
    starts: list[list[float]] = [[] for _ in kinds]
    for number in range(int(seconds / SLOT_S)):
        together = rng.uniform(0, SLOT_S / 2) if number % 4 == 0 else None
        for mine in starts:
            mine.append(number * SLOT_S + (rng.uniform(0, SLOT_S / 2) if together is None else together))
    faults = []
    for place, ((kind, on, settings), mine) in enumerate(zip(kinds, starts, strict=True)):
        said = Fault.model_validate({"name": f"{kind}-{place}", "do": kind, "on": on, "settings": settings})
        declared = registry("fault").find(kind)
        assert declared is not None
        windows = tuple(Window(at, at + SLOT_S / 4) for at in mine)
        faults.append(replace(plan_without_times(said, declared), windows=windows))
    return faults


def middle(values: Sequence[float]) -> float:
    return values[len(values) // 2]


if __name__ == "__main__":
    sys.exit(main())
