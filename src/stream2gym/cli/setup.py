"""``setup``: fetch the real software once, so that every run afterwards works offline."""

from __future__ import annotations

import argparse
import json
import time

from stream2gym.analysis import rehearsal
from stream2gym.cli.fetch_progress import fetch_progress
from stream2gym.software import flink_start_cache, spark_start_cache, streams_start_cache
from stream2gym.software.all_software import ensure_all_software, verify_all_software
from stream2gym.software.cache import Cache
from stream2gym.software.flink_python import ensure_flink_python
from stream2gym.software.rabbitmq_packages import ensure_rabbitmq
from stream2gym.software.software_lists import KAFKA
from stream2gym.software.status import SoftwareStatus, software_status


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kafka", metavar="VERSION", default=KAFKA, help=f"the Kafka to fetch (default {KAFKA})")
    parser.add_argument("--java", metavar="PATH", help="a Java 17 or later to use instead of the bundled one")
    parser.add_argument(
        "--flink", action="store_true", help="fetch Flink, too (164 MB), and make its start-up caches"
    )
    parser.add_argument(
        "--flink-python",
        action="store_true",
        help="also make an environment with PyFlink, for Flink programs in Python (450 MB), and fetch Flink",
    )
    parser.add_argument(
        "--rabbitmq", action="store_true", help="also unpack RabbitMQ and Erlang from the system's packages"
    )
    parser.add_argument("--verify", action="store_true", help="read every jar again and replace what has changed")
    parser.add_argument("--list", action="store_true", help="only show what is there and what is missing")
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")


def run(args: argparse.Namespace) -> int:
    cache = Cache.here()
    before = software_status(args.kafka, args.java, cache)
    started = time.monotonic()
    replaced: list[str] = []
    if not args.list:
        with fetch_progress() as progress:
            if args.verify:
                changed = verify_all_software(args.kafka, progress, cache=cache)
                replaced = [artifact.coordinate for artifact in changed]
            ensure_all_software(args.kafka, args.java, progress, cache=cache)
            rehearsal.make_start_cache(progress, cache)
            spark_start_cache.make_start_cache(progress, cache)
            streams_start_cache.make_start_cache(progress, cache)
            if args.flink_python:
                ensure_flink_python(progress, cache=cache)
            if args.flink or args.flink_python:
                flink_start_cache.make_start_caches(progress, cache)
            if args.rabbitmq:
                ensure_rabbitmq(progress, cache=cache)
    after = software_status(args.kafka, args.java, cache)
    seconds = time.monotonic() - started
    gained = new_bytes(before, after)
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


def new_bytes(before: list[SoftwareStatus], after: list[SoftwareStatus]) -> int:
    """The bytes that were fetched or made: the sizes of the rows that were missing before and are there now."""
    lacked = {row.name: row.bytes for row in before if row.state != "there"}
    return sum(lacked[row.name] or row.bytes for row in after if row.state == "there" and row.name in lacked)


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
