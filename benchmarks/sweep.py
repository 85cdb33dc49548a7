"""What one more point of a sweep costs beyond its own load time; points by a sweep beside the same points by hand.

    ./s2g bench sweep [POINTS]

POINTS is the number of points that run by a sweep and by hand (4 unless it is given). Both are also computed for 28
points, the size of a published sweep, from the first point and the median of the others; ``./s2g bench sweep 28``
measures them. One broker without a Spark job is the bundled experiment ``hello`` with a load of two seconds. One
broker with a Spark job is ``sentiment-analysis`` with a load of about six seconds (3 points). One Spark session
analyses all points of a sweep, so that the first point pays for its start; the cost of a point is the median of the
others. By hand, every point is a command of its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.table import Table

SETTING = "topology.links.h2 -- s1.latency"
LOAD_S = 2
POINTS = 4
MANY = 28
GOAL_S = 10.0
GOAL_WITH_JOB_S = 20.0
TIMEOUT_S = 3600.0


def main() -> int:
    points = int(next((word for word in sys.argv[1:] if word.isdigit()), POINTS))
    if points < 2:
        raise SystemExit("at least two points: the first one starts the analysis, and the others are measured")
    delays = [f"{5 + 5 * number} ms" for number in range(points)]
    table = Table("A point of a sweep: one broker")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder)
        axes = {"delay": {"set": SETTING, "values": delays}}
        by_sweep, plain = run_sweep(place / "plain", "hello", axes, {"time": f"{LOAD_S} s"})
        add_cost(table, "one more point", plain, GOAL_S)
        _, costs = run_sweep(place / "job", "sentiment-analysis", {"time": ["5 s", "6 s", "7 s"]}, {})
        add_cost(table, "one more point with a Spark job", costs, GOAL_WITH_JOB_S)
        by_hand = run_by_hand(place, delays)
        add_whole(table, f"{points} points, measured", by_sweep, sum(by_hand))
        if points < MANY:
            more = MANY - points
            swept = by_sweep + more * (statistics.median(plain[1:]) + LOAD_S)
            add_whole(table, f"{MANY} points, computed from {points}", swept, MANY * statistics.median(by_hand))
    return table.finish()


def add_whole(table: Table, what: str, by_sweep: float, by_hand: float) -> None:
    beside = f"by hand {by_hand:.1f} s ({by_hand / by_sweep:.1f} times)"
    table.add(what, f"{by_sweep:.1f} s", "", beside)


def add_cost(table: Table, what: str, costs: list[float], goal_s: float) -> None:
    first, *others = costs
    cost = statistics.median(others)
    beside = f"the first point {first:.1f} s, with the start of the analysis"
    table.add(f"{what}, beyond its load time", f"{cost:.1f} s", f"{goal_s:g} s", beside, cost <= goal_s)


def run_sweep(
    place: Path, experiment: str, axes: dict[str, Any], settings: dict[str, str]
) -> tuple[float, list[float]]:
    """Seconds of the whole sweep, and of each point beyond its load, in the order in which they ran."""
    place.mkdir()
    file = place / "sweep.yaml"
    text = {"sweep": 1, "name": "bench", "experiment": experiment, "set": settings, "axes": axes}
    file.write_text(json.dumps(text | {"responses": ["throughput"]}), "utf-8")
    took = time_command("sweep", str(file), "--out", str(place / "out"))
    lines = (place / "out" / "results.jsonl").read_text("utf-8").splitlines()
    results = [json.loads(line)["result"] for line in lines]
    failed = [result["error"] for result in results if result["state"] != "done"]
    if failed:
        raise SystemExit(f"a point of the sweep did not go through: {failed[0]}")
    return took, [result["took_s"] - result["load_s"] for result in results]


def run_by_hand(place: Path, delays: list[str]) -> list[float]:
    """Seconds of the command of each point."""
    took = []
    for number, delay in enumerate(delays):
        options = ("--set", f"time={LOAD_S} s", "--set", f"{SETTING}={delay}", "--out", str(place / f"run-{number}"))
        took.append(time_command("run", "hello", *options))
    return took


def time_command(*words: str) -> float:
    began = time.monotonic()
    argv = [sys.executable, "-m", "stream2gym", *words]
    done = subprocess.run(argv, timeout=TIMEOUT_S, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-500:]}")
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
