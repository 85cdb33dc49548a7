"""What ``./s2g bench`` does: list the benchmarks, or run one, or all."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELPERS = {
    "__init__",
    "run",
    "table",
    "nets",
    "peer",
    "watch",
    "interrupt",
    "bare",
    "kafkaload",
    "sparkjobs",
    "sites",
}
ALONE = {"soak"}  # takes half an hour: only when it is named


def main() -> int:
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS)
    chosen, options = sys.argv[1:2], sys.argv[2:]
    if not chosen:
        print("Benchmarks: ./s2g bench NAME, or `all`\n")
        for name in known:
            summary = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""
            print(f"  {name:12} {summary.splitlines()[0]}")
        return 0
    names = [name for name in known if name not in ALONE] if chosen == ["all"] else chosen
    if unknown := [name for name in names if name not in known]:
        print(f"s2g: no benchmark {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    codes = [
        subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *options], cwd=HERE.parent, check=False
        ).returncode
        for name in names
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
