"""``report``: write the report of a run or a sweep again; ``--again`` analyses the record of a run again, too."""

from __future__ import annotations

import argparse
from pathlib import Path

from stream2gym.cli.arguments import RUN, add_run
from stream2gym.errors import BadInput, Mistake


def add(parser: argparse.ArgumentParser) -> None:
    add_run(parser, nargs="?", what=f"{RUN}; or the folder of a sweep")
    parser.add_argument("--out", metavar="FILE", type=Path, help="where to write it (default: in the run folder)")
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--again", action="store_true", help="analyse and judge the record again first")
    parser.add_argument(
        "--master", metavar="URL", help="analyse it again on this Spark cluster, such as spark://HOST:7077"
    )


def run(args: argparse.Namespace) -> int:
    from stream2gym.record.folder import find_run
    from stream2gym.report.write import write_report

    if (Path(args.run) / "sweep.json").is_file():
        return report_sweep(args)
    folder = find_run(args.run)
    if args.again or args.master:
        from stream2gym.api import analyse_again

        analyse_again(folder, args.master)
    return show(write_report(folder.path, out=args.out), args.open)


def report_sweep(args: argparse.Namespace) -> int:
    """Judge a sweep again by what its runs measured, and write its report."""
    from stream2gym.sweeps.sweep_folder import SweepFolder
    from stream2gym.sweeps.sweep_results import finish_sweep, load_results

    if args.out or args.again or args.master:
        wrong = "--out" if args.out else "--again" if args.again else "--master"
        raise BadInput(Mistake(wrong, "is for single runs", "leave it out for a sweep"))
    known = load_results(SweepFolder.open(Path(args.run)))
    return show(finish_sweep(known.folder, known.file, known.state, known.stopped).report, args.open)


def show(path: Path, in_browser: bool) -> int:
    print(path)
    if in_browser:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
