"""``report``: write the report of a run anew from what its folder holds."""

from __future__ import annotations

import argparse
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", default="latest", help="a folder, a name, or latest")
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help="where to put it (default: in the run folder)"
    )
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def run(args: argparse.Namespace) -> int:
    from stream2gym.record.folder import find_run
    from stream2gym.report.write import write_report

    path = write_report(find_run(args.run).path, out=args.out)
    print(path)
    if args.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
