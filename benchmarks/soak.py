"""A long run of random faults on five brokers: our own processes must not grow, nor anything get later.

    ./s2g bench soak [--minutes 30] [--seed 1] [--keep FOLDER]

Two producers and two consumers work on topics of three replicas, while one random fault after the other hits links,
processes, hosts and Kafka, and milder ones hit links beside them. Meanwhile the processes of stream2gym itself (the
command, keeper, supervisor, fabric, observer) are looked at every two seconds. In the end: file descriptors, memory
and lateness at the start, in the middle and at the end, and how much a line through them rises. It fails when
something grows, a fault fails, a process dies unasked, or an acknowledged message is lost.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import yaml

from benchmarks.table import Table
from benchmarks.watch import Held, Trend, command_of, descendants, held_by, trend

BROKERS = 5
SLOT_S = 16.0  # one hard fault each, with time to recover
LOOK_S = 2.0
WARM_S = 30.0  # interpreters fill their caches first
OURS = {
    "stream2gym run": "command",
    "hosts.keeper": "keeper",
    "fabric.userspace": "fabric",
    "clients.admin": "observer",
}  # by words of their command lines
START_S = 240.0  # until the load begins
END_S = 600.0  # from the end of load to the verdict
QUICK = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4000,
}

Fault = dict[str, Any]


def hard_faults(rng: Random) -> list[Fault]:
    """What may hit the cluster, each drawn anew; at most one is in force at a time."""
    broker, host = f"broker-h{rng.randint(1, BROKERS)}", f"h{rng.randint(1, BROKERS)}"
    topic = rng.choice(("in", "out"))
    return [
        {"do": "kill", "on": broker, "for": "3 s"},
        {"do": "kill", "on": f"leader of {topic}/0", "for": "3 s"},
        {"do": "kill", "on": "controller", "for": "3 s"},
        {"do": "pause", "on": broker, "for": "4 s"},
        {"do": "restart", "on": broker, "orderly": True},
        {"do": "stop", "on": f"coordinator of g-{topic}", "for": "4 s"},
        {"do": "restart", "on": f"see-{topic}"},
        {"do": "pause", "on": f"gen-{topic}", "for": "3 s"},
        {"do": "crash-loop", "on": f"see-{topic}", "for": "5 s", "up": "1500 ms"},
        {"do": "host-off", "on": host, "for": "3 s"},
        {"do": "isolate", "on": host, "for": "4 s"},
        {"do": "partition", "shape": "majority", "for": "4 s"},
        {"do": "partition", "shape": "ring", "for": "4 s"},
        {"do": "partition", "shape": "bridge", "for": "4 s"},
        {"do": "switch-down", "on": "s1", "for": "2 s"},
        {"do": "move", "on": host, "to": "s2", "for": "4 s"},
        {"do": "move-leader", "on": topic, "delay": "4 s"},  # when replicas are in sync again
    ]


def mild_faults(rng: Random) -> list[Fault]:
    link = f"h{rng.randint(1, BROKERS)} -- s1"
    return [
        {"do": "flap", "on": link, "period": "600 ms", "duty": "30 %"},
        {"do": "degrade", "on": link, "latency": "30 ms", "jitter": "5 ms"},
        {"do": "degrade", "on": "random 2 of h* -- s1", "loss": "2 %"},
        {"do": "degrade", "on": "busiest 2 links", "bandwidth": "20 Mbps"},
        {"do": "ramp", "on": link, "to": {"latency": "60 ms"}},
    ]


def experiment(load_s: float, seed: int) -> dict[str, Any]:
    rng = Random(seed)
    faults: list[Fault] = []
    for number in range(int((load_s - 5) / SLOT_S)):
        start = 4 + number * SLOT_S
        hard, mild = rng.choice(hard_faults(rng)), rng.choice(mild_faults(rng))
        faults.append({"name": f"hard-{number}", "at": f"{start:g} s", **hard})
        faults.append({"name": f"mild-{number}", "at": f"{start + rng.uniform(0, 6):.3f} s", "for": "3 s", **mild})
    hosts = [f"h{n}" for n in range(1, BROKERS + 3)]
    topics = ("in", "out")
    return {
        "s2g": 1,
        "name": "soak",
        "topology": {
            "hosts": hosts,
            "switches": ["s1", "s2"],
            "links": [*(f"{host} -- s1: 1 ms, 1 Gbps" for host in hosts), "s1 -- s2: 1 ms, 1 Gbps"],
        },
        "kafka": {"config": QUICK},
        "brokers": [{"on": host} for host in hosts[:BROKERS]],
        "topics": [
            {"name": topic, "partitions": 3, "replicas": 3, "config": {"min.insync.replicas": 2}}
            for topic in topics
        ],
        "producers": [
            {"name": f"gen-{topic}", "on": hosts[-1], "topic": topic, "rate": "150/s", "size": "200 B", "acks": "all"}
            for topic in topics
        ],
        "consumers": [
            {"name": f"see-{topic}", "on": hosts[-2], "topics": [topic], "group": f"g-{topic}"} for topic in topics
        ],
        "time": f"{load_s:g} s",
        "drain": "120 s",
        "faults": faults,
        "expect": ["lost == 0"],
    }  # fmt: skip


@dataclass
class Watch:
    """What our processes held over time, by the name of each."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    held: dict[str, list[Held]] = field(default_factory=lambda: defaultdict(list))

    def look(self, pid: int, at_s: float) -> None:
        seen: set[str] = set()
        for one in sorted(descendants(pid)):
            name = name_of(one)
            if name is None or (held := held_by(one)) is None:
                continue
            if name in seen:  # a child of the keeper that is still the same program: PID 1 of the run
                name = "supervisor"
            seen.add(name)
            self.times[name].append(at_s)
            self.held[name].append(held)


def name_of(pid: int) -> str | None:
    """What we call a process of ours; None for all others."""
    command = command_of(pid)
    try:
        # Copies of the supervisor, one for each host and program: they come and go.
        if Path(f"/proc/{pid}/comm").read_text().strip() in ("s2g-host", "s2g-reaper"):
            return None
    except OSError:
        return None
    return next((name for words, name in OURS.items() if words in command), None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="s2g bench soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="put the run here instead of throwing it away")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        return soak(folder, args.minutes * 60, args.seed)


def soak(folder: Path, load_s: float, seed: int) -> int:
    said = experiment(load_s, seed)
    (folder / "soak.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    argv = [
        sys.executable,
        "-m",
        "stream2gym",
        "run",
        "soak.yaml",
        "--out",
        "run",
        "--no-report",
        "--seed",
        str(seed),
    ]
    watch = Watch()
    with open(folder / "output.txt", "wb") as output:
        process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            follow(process, folder / "run" / "events.jsonl", watch, load_s)
            code = process.wait(END_S)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)
    table = Table(
        f"Soak: {load_s / 60:g} minutes, {BROKERS} brokers, {len(said['faults'])} random faults, seed {seed}"
    )
    judge_run(table, folder, code, len(said["faults"]))
    judge_growth(table, watch, load_s)
    return table.finish()


def follow(process: subprocess.Popen[bytes], events: Path, watch: Watch, load_s: float) -> None:
    """Look at our processes from the start of load until its end."""
    deadline = time.monotonic() + START_S
    while not in_load(events):
        if process.poll() is not None or time.monotonic() > deadline:
            return
        time.sleep(0.2)
    began = time.monotonic()
    shown = 0
    while (at_s := time.monotonic() - began) < load_s - LOOK_S and process.poll() is None:
        watch.look(process.pid, at_s)
        if at_s // 60 > shown:
            shown = int(at_s // 60)
            print(f"{shown} of {load_s / 60:g} minutes", file=sys.stderr, flush=True)
        time.sleep(LOOK_S)


def in_load(events: Path) -> bool:
    lines = events.read_text().splitlines() if events.exists() else []
    return any('"load"' in line and '"phase"' in line for line in lines)


def judge_run(table: Table, folder: Path, code: int, faults: int) -> None:
    events = [json.loads(line) for line in (folder / "run" / "events.jsonl").read_text().splitlines()]
    applied = [event for event in events if event["event"] == "fault-applied"]
    healed = [event for event in events if event["event"] == "fault-healed"]
    failed = [event for event in events if event["event"] in ("fault-failed", "fault-skipped")]
    died = [event for event in events if event["event"] == "died"]
    for event in [*failed[:5], *died[:5]]:
        print(
            {key: event[key] for key in ("event", "fault", "do", "on", "component", "reason", "how") if key in event}
        )
    table.add("faults applied and undone", f"{len(applied)}, {len(healed)}", f"all {faults}",
              f"{len(failed)} failed, {len(died)} processes died unasked",
              len(applied) == len(healed) == faults and not failed and not died)  # fmt: skip
    verdict = json.loads((folder / "run" / "verdict.json").read_text())
    rows = pq.read_metadata(folder / "run" / "data" / "sent.parquet").num_rows
    table.add("verdict: nothing acknowledged was lost", verdict["outcome"], "pass",
              f"{rows:,} messages sent", code == 0)  # fmt: skip
    judge_lateness(table, folder, applied)


def judge_lateness(table: Table, folder: Path, applied: list[dict[str, Any]]) -> None:
    late = [(event["at_ns"] / 1e9, (event["at_ns"] - event["planned_ns"]) / 1e6) for event in applied]
    late = sorted(pair for pair in late)
    table.add(
        "faults after their planned time, ms",
        f"p50 {quantile([ms for _, ms in late], 0.5):.2f}, p99 {quantile([ms for _, ms in late], 0.99):.1f}",
        "stated; `bench schedule` judges",
    )
    grows(table, "lateness of faults, ms", trend(*zip(*late, strict=True)), allowed=10.0)
    samples = pq.read_table(folder / "run" / "data" / "samples.parquet").to_pylist()
    p99 = [
        (row["at_ns"] / 1e9, row["value"] / 1e3)
        for row in samples
        if (row["object"], row["metric"]) == ("lateness", "p99_us")
    ]
    if p99:
        grows(table, "lateness of packets, p99 of each look, ms", trend(*zip(*p99, strict=True)), allowed=1.0)


def judge_growth(table: Table, watch: Watch, load_s: float) -> None:
    """After a warm-up: no descriptor more, and no memory but what noise explains."""
    warm = min(WARM_S, load_s / 4)
    for name in sorted(watch.held):
        pairs = [pair for pair in zip(watch.times[name], watch.held[name], strict=True) if pair[0] >= warm]
        if len(pairs) < 9:
            continue
        times = [at_s for at_s, _ in pairs]
        grows(table, f"{name}: file descriptors", trend(times, [held.fds for _, held in pairs]), allowed=2.0)
        own = trend(times, [held.own_mb for _, held in pairs])
        grows(table, f"{name}: memory of its own, MB", own, allowed=max(2.0, own.start * 0.05))
        table.add(
            f"{name}: with its share of what is mapped, MB",
            str(trend(times, [held.pss_mb for _, held in pairs])),
        )


def grows(table: Table, what: str, seen: Trend, allowed: float) -> None:
    fits = seen.growth <= allowed and seen.end - seen.start <= 2 * allowed
    table.add(what, str(seen), f"grows by at most {allowed:.3g}", "start → middle → end (by the line)", fits)


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


if __name__ == "__main__":
    sys.exit(main())
