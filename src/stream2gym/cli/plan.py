"""``plan``: show what a run would do, as tables, as JSON, as a drawing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from stream2gym.cli.arguments import add_experiment, add_json, add_seed
from stream2gym.errors import BadInput
from stream2gym.hosts import limits
from stream2gym.plan.plan_tables import plan_facts, plan_tables
from stream2gym.plan.planned import Plan
from stream2gym.prepare import prepare_experiment


def add(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    add_seed(parser, "routes and placement")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="also draw the topology into this file")
    parser.add_argument("--all", action="store_true", help="show every row of long tables")
    add_json(parser, "the whole plan")


def run(args: argparse.Namespace) -> int:
    prepared = prepare_experiment(args.experiment, tolerant=args.tolerant, seed=args.seed)
    plan = prepared.plan
    warnings = [*map(str, prepared.loaded.warnings), *plan.warnings, *limits.unenforced_limits(plan.network).values()]
    warnings += [f"this machine cannot run it: {one.what} ({one.remedy})" for one in prepared.obstacles]
    if args.svg is not None:
        _draw(plan, args.svg)
    if args.json:
        print(json.dumps(plan.to_json() | {"warnings": warnings}, indent=2, allow_nan=False))
    else:
        show(plan, warnings, most=None if args.all else 40)
    return 0


def show(plan: Plan, warnings: list[str], *, most: int | None) -> None:
    """Print the plan for a person."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Into a file or a pipe nothing is folded at an imagined width.
    console = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200)
    console.print(Text(plan.name, style="bold"))
    for name, sentence in plan_facts(plan):
        console.print(Text.assemble((f"  {name:<12}", "dim"), sentence))
    for table in plan_tables(plan, most=most):
        drawn = Table(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for head in table.heads:
            drawn.add_column(Text(head), justify="right" if head in ("RTT", "bottleneck") else "left")
        for row in table.rows:
            drawn.add_row(*(Text(cell) for cell in row))
        console.print(drawn)
        if table.note:
            console.print(Text(f"  {table.note}\n", style="dim"))
    for part in plan.not_runnable:
        console.print(Text(part, style="yellow"))
    for warning in warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _draw(plan: Plan, path: Path) -> None:
    from stream2gym.figures.topology_drawing import draw_topology

    try:
        path.write_text(f"{draw_topology(plan).markup.source}\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write the drawing to {path}: {error.strerror}") from None
