"""What faults do to messages on a real Kafka cluster: every case of the proof, with measured values.

    ./s2g bench proof [--list] [--quick] [--keep FOLDER] [CASE ...]

The same cases are tests (`./s2g test --all tests/proof`); `--keep` leaves every run, with its report, in a folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import machine
from tests.proof.case import carry_out
from tests.proof.cases import CASES
from tests.proof.table import row, table, words


def main() -> int:
    parser = argparse.ArgumentParser(prog="./s2g bench proof", description="Losses that are found.")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--list", action="store_true", help="name the cases and what they must show")
    parser.add_argument("--quick", action="store_true", help="only those of the everyday tests")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the runs there, with reports")
    options = parser.parse_args()
    known = {case.name: case for case in CASES}
    if unknown := [name for name in options.cases if name not in known]:
        parser.error(f"no case {unknown[0]!r}; there are: {', '.join(known)}")
    chosen = [known[name] for name in options.cases] or [c for c in CASES if c.quick or not options.quick]
    if options.list:
        for case in chosen:
            print(f"{case.name:20} {case.does}\n{'':20} {case.shows}")
        return 0
    print(f"The proof, {len(chosen)} of {len(CASES)} cases\n{machine()}\n", flush=True)
    rows, good, begun = [], 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="s2g-proof-") as temporary:
        folder = options.keep or Path(temporary)
        for case in chosen:
            outcome = carry_out(case, folder / case.name, report=options.keep is not None)
            rows.append(row(outcome))
            good += outcome.good
            print(words(outcome), flush=True)
    minutes = (time.monotonic() - begun) / 60
    print(f"\n{table(rows)}\n\n{good} of {len(chosen)} cases show what they must, in {minutes:.1f} minutes")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
