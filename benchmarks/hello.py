"""How often a verdict on the smallest example is unknown on a machine with nothing else to do.

    ./s2g bench hello [RUNS]

Beside the expectations of the example stand usual ones about performance and about the cluster. Goal: at most one run
in twenty is unknown. Run it on an idle machine: with something else running, unknown is the right answer.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.hog import add_suspect, judge_all
from benchmarks.table import Table
from stream2gym.analysis.analyse import load_analysis

USUAL = [
    "lost == 0",
    "latency.p99 < 500 ms",
    "throughput > 150/s",
    "leader_changes == 0",
    "link_use.max < 50 %",
]
TIMEOUT_S = 300.0


def main() -> int:
    runs = int(next((word for word in sys.argv[1:] if word.isdigit()), "20"))
    table = Table("Verdicts on an idle machine")
    unknown = 0
    for number in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "run"
            argv = [sys.executable, "-m", "stream2gym", "run", "hello", "--out", str(folder), "--no-report"]
            code = subprocess.run(argv, timeout=TIMEOUT_S, capture_output=True, check=False).returncode
            judged = judge_all(folder, USUAL)
            undecided = [text for text, judgement in judged.items() if judgement.outcome == "unknown"]
            unknown += code == 3 or bool(undecided)
            add_suspect(table, f"run {number}", load_analysis(folder))
            if undecided:
                table.add(f"run {number}: unknown", ", ".join(undecided), "", judged[undecided[0]].reason)
    table.add("runs with something unknown", f"{unknown} of {runs}", "1 of 20", "", unknown * 20 <= runs)
    return table.finish()


if __name__ == "__main__":
    sys.exit(main())
