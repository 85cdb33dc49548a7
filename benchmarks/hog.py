"""A run beside a CPU hog: passes where the bound is far, is unknown where it is near, is never wrong.

    ./s2g bench hog [RUNS]

The same experiment runs on the machine as it is, which tells what is true, and then beside eight spinning processes a
core (two a core leave a run that sleeps most of the time unharmed). An outcome beside the hog must be the true one or
unknown. Bounds are taken from the first run: far ones hold however slow the machine is, near ones lie just above what
was measured, and one lies below what the links take by themselves, so that it fails on any machine. On a machine that
is busy already the first run is no measure: its suspect seconds stand in the table.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Table
from stream2gym import run
from stream2gym.analysis.analyse import load_analysis
from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.judge import judge
from stream2gym.judge.verdict import Judgement
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Experiment

EXPERIMENT = {
    "name": "beside-a-hog",
    "topology": {
        "hosts": ["h1", "h2", "h3"],
        "switches": ["s1"],
        "links": ["h1 -- s1: 1 ms, 1 Gbps", "h2 -- s1: 20 ms, 100 Mbps", "h3 -- s1: 1 ms, 1 Gbps"],
    },
    "brokers": [{"on": "h2"}],
    "topics": [{"name": "in", "partitions": 2}],
    "producers": [{"name": "gen", "on": "h1", "topic": "in", "rate": "500/s", "size": "100 B", "acks": "all"}],
    "consumers": [{"name": "see", "on": "h3", "topics": ["in"]}],
    "time": "8 s",
    "drain": "30 s",
}
FAR = ("lost == 0", "latency.p99 < 60 s", "ack_latency.p99 < 60 s", "throughput > 50/s")
IMPOSSIBLE = "latency.p50 < 15 ms"  # the links alone take 42 ms
SPIN = "while True: pass"
HOGS_A_CORE = 8


@contextlib.contextmanager
def hog() -> Iterator[None]:
    """Spinning processes, eight a core, for as long as the block lasts."""
    number = HOGS_A_CORE * (os.cpu_count() or 1)
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            spinning = subprocess.Popen([sys.executable, "-I", "-c", SPIN])
            stack.callback(spinning.wait)
            stack.callback(spinning.kill)
        yield


def run_once(folder: Path) -> Analysis:
    """Run the experiment and analyse it, without expectations."""
    result = run(Experiment.model_validate(EXPERIMENT), out=folder, report=False)
    if result.state != "done":
        raise RuntimeError(f"the run did not go through: {result.reasons}")
    return load_analysis(folder)


def near_bounds(quiet: Analysis) -> list[str]:
    """Expectations whose bounds lie a tenth above what the first run measured."""
    rows = {kind: [row.histogram for row in quiet.latency if row.kind == kind] for kind in ("latency", "ack_latency")}
    return [
        f"{kind}.{stat} < {1.1 * max(h.value(stat) or 0.0 for h in histograms) * 1e3:.3f} ms"
        for kind, histograms in rows.items()
        for stat in ("p50", "p99")
    ]


def judge_all(folder: Path, expectations: list[str]) -> dict[str, Judgement]:
    events = RunFolder.open(folder).read_events()
    verdict = judge(expectations, load_analysis(folder), events)
    return {judgement.text: judgement for judgement in verdict.judgements}


def is_wrong(true: Judgement, beside: Judgement) -> bool:
    """Whether the run beside the hog claims what the run without it refutes."""
    return "unknown" not in (true.outcome, beside.outcome) and true.outcome != beside.outcome


def main() -> int:
    runs = int(next((word for word in sys.argv[1:] if word.isdigit()), "3"))
    table = Table("Verdicts beside a CPU hog")
    with tempfile.TemporaryDirectory() as place:
        quiet_folder = Path(place) / "quiet"
        quiet = run_once(quiet_folder)
        expectations = [*FAR, *near_bounds(quiet), IMPOSSIBLE]
        true = judge_all(quiet_folder, expectations)
        add_suspect(table, "without a hog", quiet)
        for text in expectations:
            table.add(f"without a hog: {text}", true[text].outcome, "", true[text].shown)
        for number in range(1, runs + 1):
            folder = Path(place) / f"beside{number}"
            with hog():
                found = run_once(folder)
            add_suspect(table, f"beside the hog, run {number}", found)
            for text, judgement in judge_all(folder, expectations).items():
                goal = "pass" if text in FAR else "fail" if text == IMPOSSIBLE else "unknown or as without"
                reached = (
                    judgement.outcome == goal if goal in ("pass", "fail") else not is_wrong(true[text], judgement)
                )
                table.add(f"beside the hog: {text}", judgement.outcome, goal, judgement.shown, reached)
    return table.finish()


def add_suspect(table: Table, what: str, found: Analysis) -> None:
    fidelity = found.fidelity
    pressure = "" if fidelity.cpu_pressure is None else f"CPU pressure {fidelity.cpu_pressure:.0%}"
    table.add(f"{what}: suspect seconds", f"{fidelity.bad_seconds} of {fidelity.seconds}", "", pressure)


if __name__ == "__main__":
    sys.exit(main())
