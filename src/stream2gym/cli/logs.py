"""``logs``: what the components of a run wrote."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from stream2gym.components.stage import end_of_log
from stream2gym.errors import BadInput, Mistake
from stream2gym.record.folder import find_run
from stream2gym.spec.places import did_you_mean


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", default="latest", help="a folder, a name, or latest")
    parser.add_argument("component", metavar="COMPONENT", nargs="?", help="whose log (default: list them)")
    parser.add_argument("--tail", dest="last", type=int, metavar="N", help="only the last N lines")


def run(args: argparse.Namespace) -> int:
    logs = sorted(find_run(args.run).logs.glob("*.log"))
    if args.component is None:
        for log in logs:
            print(f"{log.stat().st_size:>10,}  {log.name.removesuffix('.log')}")
        return 0
    for log in choose(logs, args.component):
        if args.last is not None:
            print(end_of_log(log, args.last))
        else:
            with log.open("rb") as file:
                sys.stdout.flush()
                while block := file.read(1 << 16):
                    os.write(1, block)
    return 0


def choose(logs: list[Path], component: str) -> list[Path]:
    """The logs of a component (all its instances), by its name, its host's, or the log's own."""
    names = {log: log.name.removesuffix(".log") for log in logs}
    chosen = [
        log
        for log, name in names.items()
        if component == name
        or component == name.split(".", 1)[0]
        or name.split(".", 1)[-1] == component
        or name.split(".", 1)[-1].startswith(f"{component}.")
    ]
    if not chosen:
        known = [name.split(".", 1)[-1] for name in names.values()]
        raise BadInput(Mistake(component, "no log of that component", did_you_mean(component, known)))
    return chosen
