"""``runs``: list the runs of this folder, newest first."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from stream2gym.judge.verdict import load_verdict
from stream2gym.record.folder import RUNS, RunFolder, list_runs


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--in", dest="base", type=Path, default=Path(RUNS), metavar="FOLDER", help="where runs lie"
    )
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    rows = [describe(folder) for folder in list_runs(args.base)]
    if args.json:
        print(json.dumps(rows, indent=1))
    elif not rows:
        print(f"no runs in {args.base}/ yet; begin with: s2g run hello")
    else:
        width = max(len(row["run"]) for row in rows)
        for row in rows:
            print(f"{row['run']:<{width}}  {row['created']}  {row['state']:<11}  {row['verdict']}")
    return 0


def describe(folder: RunFolder) -> dict[str, Any]:
    """What a list says about a run."""
    info = folder.info
    return {
        "run": folder.path.name,
        "name": info["name"],
        "created": info["created"],
        "state": folder.state,
        "verdict": verdict_of(folder),
        "path": str(folder.path),
    }


def verdict_of(folder: RunFolder) -> str:
    """pass, fail or unknown; empty while nobody has judged."""
    try:
        found = load_verdict(folder)
    except (OSError, ValueError, TypeError):
        return ""
    return found.outcome if found else ""
