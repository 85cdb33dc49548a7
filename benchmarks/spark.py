"""Spark and stores: time to the first result, a job in the gym beside the same job bare, rows into a store.

    ./s2g bench spark [start] [job] [store] [latency]

Ours is the whole command; the peers (``benchmarks.sparkjobs``) are the same software on loopback without us, started
as anybody would. In turns, the best of each counts. Software and start-up caches are there before the clock starts.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import sparkjobs
from benchmarks.interrupt import drop
from benchmarks.table import Table
from stream2gym.components.spark import SparkJob
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.mariadb_software import MariaDbSoftware

ROUNDS = 3
GOAL_S = 16.0
ROWS, SIZE = 300_000, 100
STORED, BATCH = 100_000, 500
TIMEOUT_S = 240.0
EXAMPLE = Path(__file__).parents[1] / "examples" / "real-time" / "experiment.yaml"
Said = dict[str, Any]


def main() -> int:
    known: dict[str, Callable[[Table], None]] = {
        "start": start,
        "job": job,
        "store": store,
        "latency": latency,
    }
    chosen = [word for word in sys.argv[1:] if word in known] or list(known)
    ensure_kafka()
    SparkJob.prepare([], lambda _what, _done, _total: None)
    MariaDbSoftware.ensure()
    table = Table("Spark and stores")
    for word in chosen:
        known[word](table)
    return table.finish()


def start(table: Table) -> None:
    """One broker, one job: from the command to the first message that came through it."""
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(sparkjobs.first_result())
        ours.append(first_result())
    best, peer = (min(all_, key=lambda steps: sum(steps.values())) for all_ in (ours, bare))
    seconds, limit = sum(best.values()), sum(peer.values())
    table.add(
        "one broker, one job: command to first result",
        f"{seconds:.1f} s (worst of {ROUNDS}: {max(sum(one.values()) for one in ours):.1f})",
        f"{GOAL_S:g} s",
        f"bare, one after the other, {limit:.1f} s",
        seconds <= GOAL_S,
    )
    table.add("  where the seconds went", words(best), "", words(peer))


def first_result() -> dict[str, float]:
    steps = {"command": time.monotonic_ns()}
    keys = between_topics(rate="20/s", messages=None)
    with running(keys, {"job.py": sparkjobs.UPPER}) as said:
        for word in said:
            match word.get("event"):
                case "phase":
                    steps[word["phase"]] = int(word["at_ns"])
                case "query-started":
                    steps["query"] = int(word["at_ns"])
            if word.get("numbers", {}).get("received"):
                steps["result"] = time.monotonic_ns()
                break
    ends = {"program": "network", "network": "brokers", "broker and topics": "engines"}
    ends |= {"until the query runs": "query", "until it reads": "load", "first result": "result"}
    took, at = {}, steps["command"]
    for name, step in ends.items():
        took[name], at = (steps[step] - at) / 1e9, steps[step]
    return took


def job(table: Table) -> None:
    """The same job over a topic that is full."""
    bare = sparkjobs.copy_all(ROWS, SIZE)
    keys = between_topics(messages=ROWS, size=f"{SIZE} B")
    keys["engines"][0] |= {"ready": "start", "args": [str(ROWS)]}
    keys["producers"].append({"name": "tick", "on": "h1", "topic": "tick", "rate": "1/s"})  # so that time goes on
    keys["topics"].append("tick")
    keys["consumers"] = []
    rate = 0.0
    with running(keys, {"job.py": sparkjobs.COPY}) as said:
        for word in said:
            if word.get("event") == "program" and word["name"] == "took":
                rate = ROWS / float(word["details"]["seconds"])
            if word.get("event") in ("finished", "died") and word["component"] == "job":
                memory = int(word["max_rss_bytes"])
                break
    table.add(
        f"job over {ROWS:,} records of {SIZE} B", f"{rate:,.0f} rows/s ({rate / bare:.2f} of bare)", "",
        f"bare {bare:,.0f} rows/s",
    )  # fmt: skip
    table.add("  memory of its driver (JVM, at most)", f"{memory / 2**20:.0f} MiB", "", "heap 512 MiB")


def store(table: Table) -> None:
    """From a topic into a table, with the offsets in the same transactions."""
    value = "x" * SIZE
    bare = sparkjobs.insert_all(STORED, BATCH, value)
    keys = {
        "topology": {"kind": "star", "hosts": 3, "latency": "0.1 ms"},
        "brokers": [{"on": "h2"}],
        "topics": ["in"],
        "stores": [{"name": "db", "on": "h3"}],
        "sinks": [{"name": "into", "on": "h1", "topics": ["in"], "store": "db", "batch": BATCH}],
        "producers": [{"name": "gen", "on": "h1", "topic": "in", "size": f"{SIZE} B", "messages": STORED}],
        "time": "120 s",
        "drain": "120 s",
    }
    began = ended = 0
    with running(keys, {}) as said:
        for word in said:
            if word.get("event") == "phase" and word["phase"] == "load":
                began = int(word["at_ns"])
            if word.get("event") == "drained":
                ended = int(word["at_ns"])
                break
    rate = STORED / ((ended - began) / 1e9)
    table.add(
        f"{STORED:,} rows of {SIZE} B into MariaDB, {BATCH} a transaction",
        f"{rate:,.0f} rows/s ({rate / bare:.2f} of bare)",
        "",
        f"a loop of executemany, {bare:,.0f} rows/s",
    )


def latency(table: Table) -> None:
    """Micro-batches and Real-Time Mode side by side."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "run"
        argv = [sys.executable, "-m", "stream2gym", "run", str(EXAMPLE), "--out", str(out), "--no-report"]
        subprocess.run(argv, capture_output=True, timeout=TIMEOUT_S, check=False)
        text = (out / "logs" / "check.latency.log").read_text()
    found = dict(re.findall(r"(batched|instant): (\d+) ms", text))
    table.add(
        "a record through Spark, one by one (median)", f"Real-Time Mode {found['instant']} ms", "",
        f"micro-batches {found['batched']} ms",
    )  # fmt: skip


def words(steps: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.1f}" for name, seconds in steps.items())


def between_topics(**producer: Any) -> dict[str, Any]:
    asked = {key: value for key, value in producer.items() if value is not None}
    return {
        "topology": {"kind": "star", "hosts": 3, "latency": "0.1 ms"},
        "brokers": [{"on": "h2"}],
        "topics": ["in", "out"],
        "producers": [{"name": "gen", "on": "h1", "topic": "in", **asked}],
        "engines": [{"name": "job", "on": "h3", "app": "job.py"}],
        "consumers": [{"name": "see", "on": "h1", "topics": ["out"]}],
        "time": "200 s",
    }


@contextmanager
def running(keys: dict[str, Any], programs: dict[str, str]) -> Iterator[Iterator[Said]]:
    """The whole command; what it says, line by line. It is ended at once when the block is left."""
    with tempfile.TemporaryDirectory() as place:
        for name, text in programs.items():
            (Path(place) / name).write_text(text)
        experiment = Path(place) / "bench.yaml"
        experiment.write_text(json.dumps({"s2g": 1, "name": "bench", **keys}))
        argv = [sys.executable, "-m", "stream2gym", "run", str(experiment), "--json", "--out", f"{place}/run"]
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            yield _said(process)
        finally:
            drop(process, TIMEOUT_S)


def _said(process: subprocess.Popen[bytes]) -> Iterator[Said]:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        yield json.loads(line) if line.startswith(b"{") else {}
    sys.exit("it ended before its time:\n" + b"".join(lines[-20:]).decode())


if __name__ == "__main__":
    sys.exit(main())
