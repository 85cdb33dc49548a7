"""Recovery from the death of a leader, many times over: how far recovery less election agrees from run to run.

    ./s2g bench recovery [--runs 10] [--keep FOLDER]

Runs `broker-failure` as a user runs it. How long Kafka takes to elect a leader varies from run to run; what is left
of the recovery without it is the clients' part and the measurement, and should agree.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.table import Table
from stream2gym.analysis.analyse import load_analysis

EXAMPLE, FAULT = "broker-failure", "dead"
# Recovery less election of any two runs differs by at most this.
AGREES_S = 0.5
TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Outcome:
    """What one run told of the fault; ``why`` says why it has no figure of both."""

    recovery_s: float | None
    election_s: float | None
    why: str = ""

    @property
    def rest_s(self) -> float | None:
        if self.recovery_s is None or self.election_s is None:
            return None
        return self.recovery_s - self.election_s


def main() -> int:
    parser = argparse.ArgumentParser(prog="./s2g bench recovery", description="How far recoveries agree.")
    parser.add_argument("--runs", type=int, default=10, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the runs there, with reports")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    options = parser.parse_args()
    table = Table(f"Recovery, {options.runs} runs of {EXAMPLE}")
    with tempfile.TemporaryDirectory(prefix="s2g-recovery-") as temporary:
        folder = options.keep or Path(temporary)
        outcomes = [try_once(table, number, folder / f"run-{number}") for number in range(1, options.runs + 1)]
    add_spreads(table, outcomes)
    return table.finish()


def try_once(table: Table, number: int, folder: Path) -> Outcome:
    """One run, and its line in the table."""
    argv = [sys.executable, "-m", "stream2gym", "run", EXAMPLE, "--out", str(folder)]
    done = subprocess.run(argv, capture_output=True, timeout=TIMEOUT_S, check=False)
    outcome = read_outcome(folder) if (folder / "analysis.json").is_file() else Outcome(None, None, "no analysis")
    if outcome.why:
        print(done.stdout.decode(errors="replace")[-2000:], file=sys.stderr)
    shown = f"{_shown(outcome.recovery_s)}, {_shown(outcome.election_s)}, {_shown(outcome.rest_s)}"
    table.add(f"run {number}: recovery, election, recovery less election", shown, beside=outcome.why)
    return outcome


def read_outcome(folder: Path) -> Outcome:
    """What the analysis of a run says of the fault."""
    found = load_analysis(folder)
    elections = [fault.election_s for fault in found.faults if fault.fault == FAULT]
    rows = [row for row in found.recovery if row.fault == FAULT]
    if not rows or any(row.recovery_s is None for row in rows):
        return Outcome(None, min((e for e in elections if e is not None), default=None), "no recovery")
    recovery_s = max(row.recovery_s for row in rows if row.recovery_s is not None)
    why = "not recovered" if any(row.recovery_open for row in rows) else ""
    return Outcome(recovery_s, min((e for e in elections if e is not None), default=None), why)


def add_spreads(table: Table, outcomes: list[Outcome]) -> None:
    """The raw spreads as they are, and the one that has a goal."""
    good = [outcome for outcome in outcomes if outcome.rest_s is not None and not outcome.why]
    for what, values in (
        ("recovery", [outcome.recovery_s or 0.0 for outcome in good]),
        ("election", [outcome.election_s or 0.0 for outcome in good]),
    ):
        table.add(f"{what}: median, lowest to highest, spread", _spread(values))
    rest = [outcome.rest_s or 0.0 for outcome in good]
    agrees = len(good) == len(outcomes) and bool(rest) and max(rest) - min(rest) <= AGREES_S
    table.add(
        "recovery less election: median, lowest to highest, spread",
        _spread(rest),
        f"spread at most {AGREES_S} s",
        f"{len(good)} of {len(outcomes)} runs have both",
        agrees,
    )


def _spread(values: list[float]) -> str:
    if not values:
        return "–"
    low, high = min(values), max(values)
    return f"{median(values):.2f} s, {low:.2f} to {high:.2f} s, {high - low:.2f} s"


def _shown(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.2f} s"


if __name__ == "__main__":
    sys.exit(main())
