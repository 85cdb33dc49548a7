"""``report``: write the report of a run anew from what its folder holds; ``--again`` analyses its record anew too."""

from __future__ import annotations

import argparse
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", default="latest", help="a folder, a name, or latest")
    parser.add_argument(
        "--out", metavar="FILE", type=Path, help="where to put it (default: in the run folder)"
    )
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--again", action="store_true", help="analyse and judge the record anew first")
    parser.add_argument(
        "--master", metavar="URL", help="analyse it anew on this Spark cluster, like spark://HOST:7077"
    )


def run(args: argparse.Namespace) -> int:
    from stream2gym.record.folder import find_run
    from stream2gym.report.write import write_report

    folder = find_run(args.run)
    if args.again or args.master:
        from stream2gym.api import analyse_again

        analyse_again(folder, args.master)
    path = write_report(folder.path, out=args.out)
    print(path)
    if args.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
