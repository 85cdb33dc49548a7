"""The memory of ten sites (broker, producer with a buffer of 32 MB, consumer), everything counted once, by kind.

    ./s2g bench memory [EXPERIMENT] [--time SECONDS]

The experiment runs as a user runs it: ten sites, and then the bundled example ``ten-brokers``, or the one that is
named. The published system took 73 % of 16 GB for ten sites with such buffers. While its load goes on, the
proportional share (PSS: of a page that n processes share each has 1/n) of every process of the command is added up,
and what lies on the memory-backed storage of the hosts. The most that was seen counts. Beside it: the share of one
broker of the same kind, alone on loopback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.interrupt import drop
from benchmarks.sites import write_sites
from benchmarks.table import Table
from benchmarks.watch import descendants
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.kafka_software import KafkaSoftware
from stream2gym.software.loopback_broker import exercise, loopback_broker

GOAL_MB = 2600
BUFFER = "32 MB"
PUBLISHED = "published: 73 % of 16 GB"
EVERY_S = 1.0
TIMEOUT_S = 300.0
KINDS = {  # a word of the command line, and what it means
    "kafka.Kafka": "brokers",
    "stream2gym.clients.producer": "producers",
    "stream2gym.clients.consumer": "consumers",
    "stream2gym.clients.admin": "observer",
    "stream2gym.fabric.userspace.main": "fabric",
    "stream2gym.hosts.keeper": "keeper, supervisor, inits and reapers",
    "stream2gym": "the command",
}

Shares = dict[str, list[float]]  # MB of each process of a kind


def main() -> int:
    words = sys.argv[1:]
    time_s = words[words.index("--time") + 1] if "--time" in words else "15"
    named = [word for word in words if not word.startswith("-") and word != time_s]
    alone = one_broker(ensure_kafka())
    if named:
        return add_experiment(Table(f"Memory of {named[0]}"), named[0], time_s, alone).finish()
    table = Table(f"Memory of ten sites with producer buffers of {BUFFER}")
    with tempfile.TemporaryDirectory() as folder:
        sites = write_sites(Path(folder), 10, buffer=BUFFER)
        add_experiment(table, str(sites), time_s, alone, beside=PUBLISHED)
    second = add_experiment(Table("Memory of ten-brokers"), "ten-brokers", time_s, alone)
    return max(table.finish(), second.finish())


def add_experiment(table: Table, experiment: str, time_s: str, alone: float, *, beside: str = "") -> Table:
    """Run an experiment and add its memory by kind of component, and in all."""
    most, storage = watched(experiment, time_s)
    for kind, shares in sorted(most.items(), key=lambda one: -sum(one[1])):
        lone = f"alone on loopback {alone:.0f} MB" if kind == "brokers" else ""
        each = f" ({sum(shares) / len(shares):.0f} MB each of {len(shares)})" if len(shares) > 1 else ""
        table.add(kind, f"{sum(shares):,.0f} MB{each}", "", lone)
    table.add("what brokers stored, on memory", f"{storage:,.0f} MB")
    total = sum(map(sum, most.values())) + storage
    table.add("all", f"{total:,.0f} MB", f"{GOAL_MB:,} MB", beside, total <= GOAL_MB)
    return table


def one_broker(software: KafkaSoftware) -> float:
    with tempfile.TemporaryDirectory() as folder, loopback_broker(software, Path(folder)) as broker:
        exercise(broker)
        return share_mb(broker.process.pid)


def watched(experiment: str, time_s: str) -> tuple[Shares, float]:
    """The largest sum during the load: by kind, and storage in MB."""
    most: tuple[Shares, float] = ({}, 0.0)
    with tempfile.TemporaryDirectory() as place:
        argv = [sys.executable, "-m", "stream2gym", "run", experiment, "--json", "--time", time_s]
        argv += ["--out", f"{place}/run"]
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        loaded, due, said = False, 0.0, []
        try:
            for line in process.stderr:
                said.append(line)
                word = json.loads(line) if line.startswith(b"{") else {}
                if word.get("event") == "phase":
                    loaded = word["phase"] in ("load", "drain")
                    if word["phase"] == "stop":
                        break
                if loaded and time.monotonic() >= due:
                    due = time.monotonic() + EVERY_S
                    most = max(most, look(process.pid), key=lambda seen: sum(map(sum, seen[0].values())))
        finally:
            drop(process, TIMEOUT_S)
        if not most[0]:
            sys.exit(b"".join(said[-20:]).decode())
    return most


def look(root: int) -> tuple[Shares, float]:
    shares: Shares = defaultdict(list)
    storage: dict[str, float] = {}
    home = os.readlink(f"/proc/{root}/ns/mnt")
    for pid in descendants(root):
        try:
            shares[kind_of(pid)].append(share_mb(pid))
            place = os.readlink(f"/proc/{pid}/ns/mnt")
            if place != home and place not in storage:
                room = os.statvfs(f"/proc/{pid}/root/tmp/work")
                storage[place] = (room.f_blocks - room.f_bfree) * room.f_frsize / 1e6
        except (OSError, ValueError):
            continue  # it has just ended, or it has no storage of its own
    return shares, sum(storage.values())


def kind_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return next((kind for word, kind in KINDS.items() if word in words), "others")


def share_mb(pid: int) -> float:
    """Proportional share without what lies on memory-backed storage, which is counted there."""
    sizes = {
        name: int(value.split()[0])
        for name, _, value in (
            line.partition(":") for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        )
    }
    if "Pss" not in sizes:
        raise ValueError(f"process {pid} has no memory of its own")
    return (sizes["Pss"] - sizes.get("Pss_Shmem", 0)) * 1024 / 1e6


if __name__ == "__main__":
    sys.exit(main())
