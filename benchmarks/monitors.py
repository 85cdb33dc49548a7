"""What the monitors cost with 20 brokers and 100 topics: CPU, lateness and throughput with them and without.

    ./s2g bench monitors [ROUNDS]

One run, in which the monitors that an experiment may switch off look in some windows of ten seconds and not in
others (on, off, off, on, and so on), so that nothing but them differs: brokers get faster the longer they run, and no
two starts are the same. While they look, they look four times as often as usual, and what they add is divided by how
much more often they really did: their cost is small beside what the CPU of 20 brokers varies by. CPU is that of every
process of the run, brokers included, because they answer questions. A goal is reached or missed only where two
standard errors lie between it and the figure; with more rounds they are smaller.

Beside it: what the command, the supervisor and the observer's client take in the other windows. That is the cost of
the monitors that always look, of the watch of the leaders, of the lag and of reading what the clients report.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any
from unittest.mock import patch

from benchmarks.table import Table
from benchmarks.watch import command_of, descendants
from stream2gym.api import prepare
from stream2gym.execution import start_monitors
from stream2gym.execution.new_folder import new_folder
from stream2gym.execution.phases import execute_run
from stream2gym.execution.view import SilentView
from stream2gym.interrupts import Interrupts
from stream2gym.kinds.registry import BUILT_IN
from stream2gym.monitors.sampler import HasLook, Sampler
from stream2gym.record.events import read_events
from stream2gym.record.schemas import read_table
from stream2gym.spec.model import Experiment

MOST = 0.05
WINDOW_S = 10.0
# How much more often than usual the monitors look.
FASTER = 4
# A look while the switch is off takes less.
NO_LOOK_S = 50e-6
# Before the first window: brokers that have just started use more CPU from second to second.
SETTLE_S = 15.0
BROKERS, TOPICS = 20, 100
PATTERN = (True, False, False, True)
SWITCHED = tuple(kind.name for kind in BUILT_IN["monitor"] if kind.adjustable)
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# A word of a command line, and who that is. The supervisor is a fork of the keeper.
PARTS = {
    "kafka.Kafka": "brokers",
    "stream2gym.clients.admin": "observer",
    "stream2gym.fabric.userspace.main": "fabric",
    "stream2gym.hosts.keeper": "supervisor",
    "stream2gym.clients": "clients",
}
OURS = ("command", "supervisor", "observer")

Use = dict[str, float]
# With the monitors and without: by part, its share of a core in each window.
Shares = dict[bool, dict[str, list[float]]]


class Switch:
    """Lets the monitors look, or not."""

    def __init__(self) -> None:
        self.on = True
        # Finished looks of each monitor so far.
        self.looks: Counter[str] = Counter()

    def over(self, name: str, monitor: HasLook) -> HasLook:
        """The monitor, which looks only while the switch is on."""
        return _Switched(self, name, monitor)


class _Switched:
    def __init__(self, switch: Switch, name: str, monitor: HasLook) -> None:
        self._switch = switch
        self._name = name
        self._monitor = monitor

    def look(self) -> None:
        if self._switch.on:
            self._monitor.look()
            self._switch.looks[self._name] += 1


def switched_sampler(switch: Switch) -> type[Sampler]:
    """A sampler whose monitors of ``SWITCHED`` obey the switch."""

    class SwitchedSampler(Sampler):
        def add(self, name: str, make: Callable[[], HasLook], every_s: float | None = None) -> None:
            if name in SWITCHED and every_s is not None:
                super().add(name, lambda: switch.over(name, make()), every_s / FASTER)
            else:
                super().add(name, make, every_s)

    return SwitchedSampler


class Windows:
    """Switches the monitors on and off while the load goes on, and measures the CPU of every window."""

    def __init__(self, switch: Switch, events: Path, rounds: int) -> None:
        self._switch = switch
        self._events = events
        self._pattern = PATTERN * rounds
        # Of each window: whether the monitors looked, when it began and ended on our clock, CPU seconds by part.
        self.seen: list[tuple[bool, int, int, Use]] = []
        # Looks in all windows in which the monitors looked, and how long these were.
        self.looks: Counter[str] = Counter()
        self.on_s = 0.0
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(WINDOW_S)

    def _measure(self) -> None:
        while not any(event.get("phase") == "load" for event in self._read()):
            time.sleep(0.5)
        time.sleep(SETTLE_S)
        for on in self._pattern:
            self._switch.on = on
            began_ns, before, looks = time.monotonic_ns(), cpu_by_part(), self._switch.looks.copy()
            time.sleep(WINDOW_S)
            used = {part: seconds - before.get(part, 0.0) for part, seconds in cpu_by_part().items()}
            self.seen.append((on, began_ns, time.monotonic_ns(), used))
            if on:
                self.looks += self._switch.looks - looks
                self.on_s += (self.seen[-1][2] - began_ns) / 1e9
        self._switch.on = True

    def faster(self) -> float:
        """How much more often than usual the monitors really looked: that of the monitor that came least often."""
        return min(
            self.looks[kind.name] * kind.every_s / self.on_s
            for kind in BUILT_IN["monitor"]
            if kind.name in self.looks
        )

    def _read(self) -> list[dict[str, Any]]:
        return list(read_events(self._events)) if self._events.exists() else []


def cpu_by_part() -> Use:
    """CPU seconds so far of every process of this command, by what it is."""
    used: Use = defaultdict(float)
    for pid in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        line = command_of(pid)
        part = "command" if pid == os.getpid() else next((p for word, p in PARTS.items() if word in line), "others")
        used[part] += (int(fields[11]) + int(fields[12])) / TICKS_PER_S
    return used


def experiment(time_s: float) -> Experiment:
    topics = [f"topic-{number:02}" for number in range(TOPICS)]
    hosts = [f"h{number}" for number in range(1, BROKERS + 1)]
    return Experiment.model_validate(
        {
            "name": "monitors",
            "topology": {"hosts": hosts, "switches": ["s1"], "links": [f"{host} -- s1: 1 ms" for host in hosts]},
            "brokers": [{"on": host} for host in hosts],
            "topics": [{"name": name, "replicas": 3} for name in topics],
            "producers": [{"name": "gen", "on": "h1", "topics": topics, "rate": "100/s", "size": "100 B"}],
            "consumers": [{"name": "see", "on": "h2", "pattern": "topic-.*", "group": "g"}],
            "time": f"{time_s:g} s",
        }
    )


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    rounds = int(words[0]) if words else 2
    table = Table(f"Monitors with {BROKERS} brokers and {TOPICS} topics")
    switch = Switch()
    with tempfile.TemporaryDirectory() as place, Interrupts() as interrupts:
        time_s = SETTLE_S + WINDOW_S * len(PATTERN) * rounds + 5
        planned, loaded = prepare(experiment(time_s))
        folder = new_folder(planned, loaded, Path(place, "run"))
        windows = Windows(switch, folder.path / "events.jsonl", rounds)
        with patch.object(start_monitors, "Sampler", switched_sampler(switch)):
            outcome = execute_run(planned, folder, SilentView(), interrupts)
        windows.join()
        folder.release()
        if outcome.error is not None or len(windows.seen) < len(PATTERN) * rounds:
            raise SystemExit(f"the run ended early: {outcome.error}")
        add_cpu(table, windows)
        add_looks(table, folder.path)
        add_quality(table, windows, folder.path)
    return table.finish()


def add_cpu(table: Table, windows: Windows) -> None:
    """CPU with and without, as a share of one core, of everything and of each part."""
    shares: Shares = {True: defaultdict(list), False: defaultdict(list)}
    for on, began_ns, ended_ns, used in windows.seen:
        took_s = (ended_ns - began_ns) / 1e9
        for part, seconds in used.items():
            shares[on][part].append(seconds / took_s)
        shares[on]["all"].append(sum(used.values()) / took_s)
        shares[on]["ours"].append(sum(used.get(part, 0.0) for part in OURS) / took_s)
    faster = windows.faster()
    today = mean(shares[False]["ours"])
    always = f"today's {today:.1%}: all of command, supervisor, observer without them"
    for what, part, beside in (
        ("new monitors: command, supervisor, observer", "ours", always),
        ("new monitors: everything, brokers too", "all", f"{mean(shares[False]['all']):.1%} without them"),
    ):
        with_, without = shares[True][part], shares[False][part]
        add_difference(table, what, beside, with_=with_, without=without, faster=faster)
    table.add("  looks, in times of usual", f"{faster:.1f}", "", f"asked for {FASTER}")
    for part in sorted(set(shares[True]) - {"all", "ours"}):
        added = (mean(shares[True][part]) - mean(shares[False][part])) / faster
        table.add(f"  {part}", f"{added:+.2%}", "", f"{mean(shares[False][part]):.2%} without")


def add_difference(
    table: Table, what: str, beside: str, *, with_: Sequence[float], without: Sequence[float], faster: float
) -> None:
    """What the monitors add at their usual intervals, judged where the noise allows it."""
    added = (mean(with_) - mean(without)) / faster
    error = math.hypot(stdev(with_) / math.sqrt(len(with_)), stdev(without) / math.sqrt(len(without))) / faster
    reached = None if abs(added - MOST) < 2 * error else added < MOST
    table.add(what, f"{added:+.2%} ± {error:.2%} of a core", f"< {MOST:.0%}", beside, reached)


def add_looks(table: Table, run: Path) -> None:
    """What the looks of each monitor took in our own process, and how long they lasted."""
    rows = [row for row in read_table(run / "data", "samples").to_pylist() if row["source"] == "monitor"]
    for name in SWITCHED:
        cpu = [row["value"] for row in rows if (row["object"], row["metric"]) == (name, "cpu_s")]
        looks = [row["value"] for row in rows if (row["object"], row["metric"]) == (name, "look_s")]
        looks = [look_s for look_s in looks if look_s > NO_LOOK_S]
        if looks:
            table.add(
                f"  a look of {name}", f"median {median(looks) * 1e3:.1f} ms", "", f"{cpu[-1]:.3f} s of CPU so far"
            )


def add_quality(table: Table, windows: Windows, run: Path) -> None:
    """How late packets were, and how much was acknowledged, with and without."""
    t0_ns = next(event["at_ns"] for event in read_events(run / "events.jsonl") if event.get("phase") == "load")
    samples = read_table(run / "data", "samples").to_pylist()
    done = [row["done_ns"] for row in read_table(run / "data", "sent").to_pylist() if row["status"] == "acked"]
    late: dict[bool, list[float]] = {True: [], False: []}
    rates: dict[bool, list[float]] = {True: [], False: []}
    for on, began_ns, ended_ns, _ in windows.seen:
        low, high = began_ns - t0_ns, ended_ns - t0_ns
        late[on] += [
            row["value"]
            for row in samples
            if (row["object"], row["metric"]) == ("lateness", "p99_us") and low <= row["at_ns"] < high
        ]
        rates[on].append(sum(low <= at < high for at in done) / (high - low) * 1e9)
    table.add(
        "lateness of packets, median of p99", f"{median(late[True]):.0f} us", "", f"{median(late[False]):.0f} us"
    )
    table.add("acknowledged a second", f"{mean(rates[True]):.1f}", "", f"{mean(rates[False]):.1f} without")


if __name__ == "__main__":
    sys.exit(main())
