"""``doctor``: what this machine can do, and the remedy for what it cannot, before a run needs it."""

from __future__ import annotations

import argparse
import json
import platform
import sys

from stream2gym.hosts.checks import Check, State, machine_checks
from stream2gym.software.status import software_status

MARKS = {"ok": "[green]ok[/]", "limited": "[yellow]limited[/]", "missing": "[red]missing[/]"}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    checks = [_system(), *machine_checks(), *_software()]
    if args.json:
        print(json.dumps([check.to_json() for check in checks], indent=2))
    else:
        _show(checks)
    return 4 if any(check.state == "missing" for check in checks) else 0


def _system() -> Check:
    return Check("system", "ok", f"Linux {platform.release()}, Python {platform.python_version()}")


def _software() -> list[Check]:
    """What is fetched already; a run fetches the rest by itself, which only costs time."""
    checks = []
    for row in software_status():
        cost = f", {row.bytes / 1e6:.0f} MB" if row.bytes else ""
        state: State = "ok" if row.state == "there" else "limited"
        checks.append(Check(row.name, state, f"{row.detail}{cost}", "" if state == "ok" else row.remedy))
    return checks


def _show(checks: list[Check]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for check in checks:
        remedy = f"\n[dim]→ {escape(check.remedy)}[/]" if check.remedy else ""
        table.add_row(MARKS[check.state], check.name, escape(check.detail) + remedy)
    Console(file=sys.stdout, highlight=False).print(table)
