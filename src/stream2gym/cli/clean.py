"""``clean``: remove old runs. It touches only folders that are runs, and none that is still running."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta

from stream2gym.cli.arguments import add_runs_folder
from stream2gym.errors import BadInput, Mistake
from stream2gym.record.folder import RunFolder, list_runs
from stream2gym.units import Duration, UnitError

KEPT = 5


def add(parser: argparse.ArgumentParser) -> None:
    add_runs_folder(parser)
    parser.add_argument("--keep", type=int, metavar="N", help=f"keep the newest N (default {KEPT} without --older)")
    parser.add_argument("--older", metavar="TIME", help="remove only older runs, such as 7d or 12h")


def run(args: argparse.Namespace) -> int:
    older = None if args.older is None else parse_age(args.older)
    keep = args.keep if args.keep is not None else (0 if older else KEPT)
    if keep < 0:
        raise BadInput(Mistake("--keep", f"{keep} runs cannot be kept", "0 or more"))
    now = datetime.now().astimezone()
    chosen = choose([folder for folder in list_runs(args.base) if not folder.is_running()], keep, older, now)
    for folder in chosen:
        shutil.rmtree(folder.path)
        print(f"removed {folder.path}")
    if not chosen:
        print("nothing to remove")
    return 0


def choose(newest_first: Sequence[RunFolder], keep: int, older: timedelta | None, now: datetime) -> list[RunFolder]:
    """The runs to remove: beyond the newest ``keep``, and older than that where an age is given."""
    beyond = newest_first[keep:]
    return [
        folder for folder in beyond if older is None or now - datetime.fromisoformat(folder.info["created"]) > older
    ]


def parse_age(text: str) -> timedelta:
    """``7d``, ``2 w``, or any duration."""
    days = {"d": 1, "day": 1, "days": 1, "w": 7, "weeks": 7}
    number = text.strip().rstrip("aydweks ")
    unit = text.strip()[len(number) :].strip()
    try:
        if unit in days:
            return timedelta(days=float(number) * days[unit])
        return timedelta(seconds=float(Duration.parse(text)))
    except (UnitError, ValueError):
        raise BadInput(Mistake("--older", f"{text!r} is not an age", "write it like 7d or 12h")) from None
