"""What ``./s2g test`` does: formatting, lint, types, then the tests. ``--all`` adds the long proofs.

Other arguments go to pytest (``./s2g test tests/unit -k routes``).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ["src", "tests", "benchmarks", "examples"]


def main() -> int:
    arguments = sys.argv[1:]
    everything = "--all" in arguments
    chosen = [argument for argument in arguments if argument != "--all"]
    steps = (
        []
        if chosen
        else [
            ["ruff", "format", "--check", "--quiet", *CODE],
            ["ruff", "check", "--quiet", *CODE],
            ["mypy"],
        ]
    )
    marks = [] if everything else ["-m", "not long"]
    steps.append(["pytest", "--color=yes" if sys.stdout.isatty() else "--color=no", *marks, *chosen])
    for step in steps:
        if subprocess.run([sys.executable, "-m", *step], cwd=ROOT, check=False).returncode:
            print(f"./s2g test: failed in: {' '.join(step)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
