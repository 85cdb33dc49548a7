"""``runs``: list the runs of this folder, newest first."""

from __future__ import annotations

import argparse
import json
from typing import Any

from stream2gym.cli.arguments import add_json, add_runs_folder
from stream2gym.judge.verdict import load_verdict
from stream2gym.record.folder import RunFolder, list_runs


def add(parser: argparse.ArgumentParser) -> None:
    add_runs_folder(parser)
    add_json(parser, "the list")


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
    """The row of a run in the list."""
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
    """pass, fail or unknown; empty before the run is judged."""
    try:
        found = load_verdict(folder)
    except (OSError, ValueError, TypeError):
        return ""
    return found.outcome if found else ""
