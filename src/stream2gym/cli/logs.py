"""``logs``: what the components of a run wrote."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from stream2gym.cli.arguments import add_run
from stream2gym.components.run_context import end_of_log
from stream2gym.errors import BadInput, Mistake
from stream2gym.record.folder import RunFolder, find_run, split_log_name
from stream2gym.record.instances import component_of
from stream2gym.spec.findings import did_you_mean


def add(parser: argparse.ArgumentParser) -> None:
    add_run(parser, nargs="?")
    parser.add_argument("component", metavar="COMPONENT", nargs="?", help="whose log (default: list them)")
    parser.add_argument("--tail", dest="last", type=int, metavar="N", help="only the last N lines")


def run(args: argparse.Namespace) -> int:
    folder = find_run(args.run)
    logs = sorted(folder.logs.glob("*.log"))
    if args.component is None:
        for log in logs:
            print(f"{log.stat().st_size:>10,}  {log.name.removesuffix('.log')}")
        return 0
    for log in choose(logs, args.component, component_names(folder)):
        if args.last is not None:
            print(end_of_log(log, args.last))
        else:
            with log.open("rb") as file:
                sys.stdout.flush()
                while block := file.read(1 << 16):
                    os.write(1, block)
    return 0


def component_names(folder: RunFolder) -> tuple[str, ...]:
    """The names of the components of a run; none before it has a plan."""
    try:
        plan = json.loads((folder.path / "plan.json").read_text("utf-8"))
        return tuple(str(part["name"]) for part in plan["components"])
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def choose(logs: list[Path], wanted: str, components: Sequence[str] = ()) -> list[Path]:
    """The logs of a component (all its instances), of one of its instances, of a host, or one by its own name."""
    chosen = []
    for log in logs:
        host, process = split_log_name(log)
        if wanted in (log.name.removesuffix(".log"), host, process, component_of(process, components)):
            chosen.append(log)
    if not chosen:
        known = [split_log_name(log)[1] for log in logs]
        raise BadInput(Mistake(wanted, "no log of that component", did_you_mean(wanted, known)))
    return chosen
