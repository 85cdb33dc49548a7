"""``setup``: fetch the real software once, so that every run afterwards works offline."""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Iterator

from stream2gym.software.cache import Cache
from stream2gym.software.everything import ensure_everything, verify_everything
from stream2gym.software.fetch import Progress
from stream2gym.software.lists import KAFKA
from stream2gym.software.status import SoftwareStatus, software_status


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kafka", metavar="VERSION", default=KAFKA, help=f"the Kafka to fetch (default {KAFKA})"
    )
    parser.add_argument("--java", metavar="PATH", help="a Java 17 or later to use instead of the bundled one")
    parser.add_argument(
        "--verify", action="store_true", help="read every jar again and replace what has changed"
    )
    parser.add_argument("--list", action="store_true", help="only show what is there and what is missing")
    parser.add_argument("--json", action="store_true", help="answer for machines, on standard output")


def run(args: argparse.Namespace) -> int:
    cache = Cache.here()
    before = software_status(args.kafka, args.java, cache)
    started = time.monotonic()
    replaced: list[str] = []
    if not args.list:
        with _progress() as progress:
            if args.verify:
                changed = verify_everything(args.kafka, progress, cache=cache)
                replaced = [artifact.coordinate for artifact in changed]
            ensure_everything(args.kafka, args.java, progress, cache=cache)
    after = software_status(args.kafka, args.java, cache)
    seconds = time.monotonic() - started
    gained = _there(after) - _there(before)
    if args.json:
        answer = {
            "cache": str(cache.folder),
            "software": [row.to_json() for row in after],
            "replaced": replaced,
            "new_bytes": gained,
            "seconds": round(seconds, 2),
        }
        print(json.dumps(answer, indent=1))
    else:
        _show(cache, after, replaced)
        if not args.list:
            print(f"{gained / 1e6:.0f} MB new in {seconds:.1f} s; runs need no network from here on")
    return 0


def _there(rows: list[SoftwareStatus]) -> int:
    return sum(row.bytes for row in rows if row.state == "there")


def _show(cache: Cache, rows: list[SoftwareStatus], replaced: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("software", "state", "MB", "detail"):
        table.add_column(heading, justify="right" if heading == "MB" else "left", overflow="fold")
    colours = {"there": "green", "missing": "yellow", "broken": "red"}
    for row in rows:
        detail = f"{row.detail} ({row.remedy})" if row.remedy else row.detail
        size = f"{row.bytes / 1e6:.1f}" if row.bytes else ""
        table.add_row(row.name, f"[{colours[row.state]}]{row.state}[/]", size, detail)
    console = Console(highlight=False)
    console.print(f"cache: {cache.folder}", soft_wrap=True)
    console.print(table)
    for coordinate in replaced:
        console.print(f"replaced {coordinate}: it had changed since it was fetched")


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal, a line a step elsewhere; always on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        seen: set[str] = set()

        def line(what: str, _done: int, total: int) -> None:
            if what not in seen:
                seen.add(what)
                console.print(f"{what}{f' ({total / 1e6:.0f} MB)' if total else ''}", soft_wrap=True)

        yield line
        return
    words = TextColumn("{task.description}", markup=False)
    with Bars(words, BarColumn(), DownloadColumn(), TimeElapsedColumn(), console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def bar(what: str, done: int, total: int) -> None:
            if what not in tasks:
                for task in tasks.values():
                    bars.stop_task(task)
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done)

        yield bar
