"""Analysis and report of a small run: how long a person waits, where the seconds go, with and without start cache.

    ./s2g bench analysis

The bundled ``hello`` runs once by its command; the lines that it prints are timed, so that the wait for the counts
and for the verdict is what a person sees. Then its record is analysed again by fresh processes, with and without the
start-up cache that ``setup`` makes, in turns; the best of each counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.startup import compiled
from benchmarks.table import Table

GOAL_S = 12.0
ROUNDS = 3
TIMEOUT_S = 300.0


def main() -> int:
    if "--measure" in sys.argv:
        print(json.dumps(measure(Path(sys.argv[2]), cold="--cold" in sys.argv)))
        return 0
    from stream2gym.analysis.analysis_start_cache import analysis_start_cache
    from stream2gym.analysis.fake_run import rehearsal
    from stream2gym.analysis.rehearsal import make_start_cache
    from stream2gym.software.java import find_java

    made, began = analysis_start_cache(find_java()).file.is_file(), time.monotonic()
    make_start_cache()
    table = Table("Analysis and report of hello")
    if not made:
        table.add("making the start-up cache, once", f"{time.monotonic() - began:.1f} s")
    with compiled(), tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        again(rehearsal().write(Path(place) / "first"))
        as_seen(table, run)
        warm, cold = [], []
        for _ in range(ROUNDS):
            warm.append(again(run))
            cold.append(again(run, "--cold"))
    for what, rounds in (("with", warm), ("without", cold)):
        best = min(rounds, key=lambda laps: sum(laps.values()))
        total = sum(best.values())
        table.add(
            f"from a fresh process to the report, {what} start cache",
            f"{total:.1f} s (worst {max(sum(laps.values()) for laps in rounds):.1f} s)",
            f"{GOAL_S:g} s" if what == "with" else "",
            ", ".join(f"{name} {seconds:.1f}" for name, seconds in best.items()),
            total <= GOAL_S if what == "with" else None,
        )
    return table.finish()


def as_seen(table: Table, run: Path) -> None:
    """What the command shows, and when: Spark starts while the run stops."""
    argv = [sys.executable, "-m", "stream2gym", "run", "hello", "--out", str(run)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    seen = {}
    for line in process.stdout:
        word = line.rpartition("] ")[2].strip()
        word = "counts" if " sent, " in word and " received" in word else word.partition(":")[0]
        seen[word] = time.monotonic()
    process.wait(TIMEOUT_S)
    ended = time.monotonic()
    if "verdict" not in seen:
        sys.exit(f"the run came to no verdict: {sorted(seen)}")
    counts, waited = seen["counts"] - seen["stop"], seen["verdict"] - seen["stop"]
    table.add(
        "from the end of the drain to the counts", f"{counts:.1f} s", "before the audit", "",
        seen["counts"] < seen["analysis"],
    )  # fmt: skip
    laps = (("stop", "seal"), ("seal", "analysis"), ("analysis", "report"), ("report", "verdict"))
    where = ", ".join(f"{name} {seen[until] - seen[name]:.1f}" for name, until in laps)
    table.add(
        "from the end of the drain to verdict and report", f"{waited:.1f} s", f"{GOAL_S:g} s",
        f"{where}, to the end of the command {ended - seen['verdict']:.1f}", waited <= GOAL_S,
    )  # fmt: skip


def again(run: Path, *more: str) -> dict[str, float]:
    argv = [sys.executable, "-m", "benchmarks.analysis", "--measure", str(run), *more]
    began = time.monotonic()
    done = subprocess.run(argv, stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=True)
    took: dict[str, float] = json.loads(done.stdout)
    took["start and end"] = time.monotonic() - began - sum(took.values())
    return took


def measure(run: Path, *, cold: bool) -> dict[str, float]:
    """Analyse, judge and report in this process; seconds of each step."""
    laps, at = {}, time.monotonic()

    def lap(name: str) -> None:
        nonlocal at
        laps[name], at = time.monotonic() - at, time.monotonic()

    from stream2gym.analysis.analyse import analyse
    from stream2gym.analysis.session import open_session
    from stream2gym.judge.judge import judge
    from stream2gym.record.folder import RunFolder
    from stream2gym.report.write import write_report

    lap("imports")
    folder = RunFolder.open(run)
    with open_session(options=() if cold else None) as session:
        lap("session")
        found = analyse(run, session=session)
        lap("analysis")
        judge(["lost == 0"], found, folder.read_events())
        write_report(run, found)
        lap("verdict and report")
    lap("end of the session")
    return laps


if __name__ == "__main__":
    sys.exit(main())
