"""From the command to the first message consumed, beside the same brokers started bare, for 1, 10 and 20 brokers.

    ./s2g bench startup [BROKERS ...]

Ours is the whole command in a process of its own: reading the experiment, network, fabric, monitors, brokers, topic,
clients that stand ready, load. The peer (``benchmarks.bare``) has no network to build and nothing to record. Both in
turns, the best of each counts. Software, start-up caches and compiled Python are there before the clock starts: a
first round of each is not counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.interrupt import drop
from benchmarks.table import Table
from stream2gym.record.journal import Reader
from stream2gym.software.ensure_kafka import ensure_kafka

SIZES = (1, 10, 20)
ROUNDS = {1: 5, 10: 3, 20: 2}
GOAL = 1.4
TIMEOUT_S = 240.0


def main() -> int:
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or SIZES
    ensure_kafka()
    table = Table("Start-up: from the command to the first message consumed")
    with compiled():
        run_bare(1)
        run_ours(1)
        for brokers in sizes:
            measure(table, brokers)
    return table.finish()


@contextlib.contextmanager
def compiled() -> Iterator[None]:
    """Let Python keep what it compiled, as it does for people, also where the environment forbids it."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:  # hosts have a /tmp of their own
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = place
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def measure(table: Table, brokers: int) -> None:
    ours, bare = [], []
    for _ in range(ROUNDS.get(brokers, 3)):
        bare.append(run_bare(brokers))
        ours.append(run_ours(brokers))
    best = min(ours, key=lambda phases: sum(phases.values()))
    peer = min(bare, key=lambda phases: sum(phases.values()))
    seconds, limit = sum(best.values()), sum(peer.values())
    table.add(
        f"{brokers} broker{'s' * (brokers > 1)}",
        f"{seconds:.2f} s ({seconds / limit:.2f} of bare)",
        f"{GOAL} of bare",
        f"bare {limit:.2f} s; worst of {len(ours)}: ours {max(sum(p.values()) for p in ours):.2f} s, "
        f"bare {max(sum(p.values()) for p in bare):.2f} s",
        seconds <= GOAL * limit,
    )
    alone = limit - peer["group"]
    table.add("  beside a reader without a group", f"{seconds / alone:.2f} of bare", "", f"bare {alone:.2f} s")
    table.add("  where the seconds went", words(best), "", words(peer))


def words(phases: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in phases.items())


def run_bare(brokers: int) -> dict[str, float]:
    began = time.monotonic_ns()
    argv = [sys.executable, "-m", "benchmarks.bare", str(brokers)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=True)
    steps = {"before": began} | json.loads(done.stdout)
    ends = {
        "processes": "started",
        "brokers": "cluster",
        "topic": "topic",
        "message": "read",
        "group": "message",
    }
    return differences(steps, {"program": "began"} | ends)


def run_ours(brokers: int) -> dict[str, float]:
    """The whole command; ended at once when its first message was consumed."""
    with tempfile.TemporaryDirectory() as place:
        experiment = Path(place) / "start.json.yaml"
        experiment.write_text(json.dumps(described(brokers)))
        out = Path(place) / "run"
        argv = [sys.executable, "-m", "stream2gym", "run", str(experiment), "--json", "--out", str(out)]
        began = time.monotonic_ns()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        steps, said = {"before": began}, []
        try:
            for line in process.stderr:
                said.append(line)
                word: dict[str, Any] = json.loads(line) if line.startswith(b"{") else {}
                if word.get("event") == "phase":
                    steps[word["phase"]] = int(word["at_ns"])
                if word.get("numbers", {}).get("received"):
                    break
            else:
                sys.exit(b"".join(said[-20:]).decode())
            [journal] = (out / "raw").glob("received.*.journal")
            steps["message"] = next(Reader(journal).rows())["at_ns"]
        finally:
            drop(process, TIMEOUT_S)
    ends = {"program": "software", "software": "network", "network": "brokers", "brokers": "topics"}
    return differences(steps, ends | {"topic": "consumers", "clients": "load", "message": "message"})


def differences(steps: dict[str, int], ends: dict[str, str]) -> dict[str, float]:
    """Seconds of each phase, named after what was done until the next step."""
    found, at = {}, steps["before"]
    for name, step in ends.items():
        found[name] = (steps[step] - at) / 1e9
        at = steps[step]
    return found


def described(brokers: int) -> dict[str, Any]:
    """So many brokers around a switch, a producer and a consumer."""
    return {
        "s2g": 1,
        "name": "start",
        "topology": {"kind": "star", "hosts": brokers, "latency": "0.1 ms"},
        "brokers": [{"on": f"h{n}"} for n in range(1, brokers + 1)],
        "topics": [{"name": "first", "replicas": min(3, brokers)}],
        "producers": [{"on": "h1", "topic": "first", "rate": "100/s", "size": "100 B", "acks": "all"}],
        "consumers": [{"on": f"h{brokers}", "topics": ["first"]}],
        "time": "60 s",
    }


if __name__ == "__main__":
    sys.exit(main())
