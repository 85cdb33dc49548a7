"""``run``: run an experiment and show its result: counts at once, then the verdict and where the report is."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.cli.arguments import add_experiment, add_seed, add_set
from stream2gym.cli.watch import add_page_options, check_port
from stream2gym.errors import BadInput, Mistake
from stream2gym.linux import find_process_start_ns
from stream2gym.units import Duration

if TYPE_CHECKING:
    from stream2gym.api import Result
    from stream2gym.record.folder import RunFolder

_WORST = (0, 1, 3, 130)  # of several runs the worst one's code counts


def add(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument("--time", help="length of the load, such as '30 s' (a bare number is seconds)")
    add_set(parser, "change one value, such as producers.gen.rate=50/s (may be given several times)")
    add_seed(parser, "routes, placement, loss and load")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the record goes (default: runs/NAME-...)")
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="run it N times, with seeds that count up; ends with a summary",
    )
    parser.add_argument("--no-report", action="store_true", help="judge it, but write no report.html")
    parser.add_argument(
        "--master",
        metavar="URL",
        help="analyse the record on this Spark cluster, such as spark://HOST:7077 (default: on this machine)",
    )
    parser.add_argument(
        "--live", action="store_true", help="show the run in the browser while it goes on; prints the link"
    )
    add_page_options(parser)
    parser.add_argument("--capture-all", action="store_true", help="write the packets of every link to captures/")
    parser.add_argument(
        "--only-spark",
        nargs="?",
        const="1",
        default="0",
        metavar="0|1",
        help="as in the published format: read no topics",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON: the result on standard output, events on standard error"
    )


def run(args: argparse.Namespace) -> int:
    if args.repeat < 1:
        raise BadInput(Mistake("--repeat", f"{args.repeat} is not a number of runs", "1 or more"))
    if args.repeat > 1 and args.out is not None:
        raise BadInput(Mistake("--out", "several runs do not fit into one folder", "leave it out with --repeat"))
    if not args.live and (args.read_only or args.port):
        raise BadInput(Mistake("--read-only, --port", "are about the page of the run", "add --live"))
    check_port(args.port)
    results: list[Result] = []
    for number in range(args.repeat):
        began_ns = time.monotonic_ns() if results else find_process_start_ns()
        result = run_once(args, results[0].folder.info["seed"] + number if results else args.seed, began_ns)
        if isinstance(result, int):
            return result
        results.append(result)
        if result.exit_code == 130:
            break
    if len(results) > 1 and not args.json:
        print("\n".join(summarise_repeats(results)))
    if args.json:
        shown = [as_json(result) for result in results]
        print(json.dumps(shown[0] if args.repeat == 1 else shown, indent=1, default=str))
    codes = [result.exit_code for result in results]
    return max(codes, key=lambda code: _WORST.index(code) if code in _WORST else len(_WORST))


def run_once(args: argparse.Namespace, seed: int | None, began_ns: int) -> Result | int:
    """One run; without components the links are measured instead, which gives an exit code.

    ``began_ns`` is when it was asked for: the first of several runs when the process began.
    """
    from stream2gym.api import perform, prepare
    from stream2gym.cli.run_summary import SummaryPrinter
    from stream2gym.cli.run_views import choose_view
    from stream2gym.components.cluster import name_nodes
    from stream2gym.spec.readers.overrides import pairs

    planned, loaded = prepare(
        args.experiment,
        time=None if args.time is None else read_time(args.time),
        overrides=pairs(args.set),
        seed=seed,
        tolerant=args.tolerant,
        only_spark=args.only_spark not in ("0", ""),
        capture_all=args.capture_all,
        began_ns=began_ns,
    )
    for warning in (*map(str, loaded.warnings), *planned.plan.warnings):
        print(f"s2g: warning: {warning}", file=sys.stderr)
    if not planned.plan.components:
        from stream2gym.cli.link_table import show_links

        return show_links(planned.plan, as_json=args.json)
    summary = SummaryPrinter(quiet=args.json)
    view = choose_view(as_json=args.json, nodes=name_nodes(planned.plan.components))
    try:
        result = perform(
            planned,
            loaded,
            out=args.out,
            report=not args.no_report,
            view=view,
            when_recorded=summary.counts,
            master=args.master,
            interrupts=args.interrupts,
            beside=page_beside(args, view.note if args.json else tell),
        )
    finally:
        view.close()
    summary.result(result)
    return result


def summarise_repeats(results: list[Result]) -> list[str]:
    """The lines that end the output of several runs."""
    from stream2gym.cli.repeat_summary import RepeatedRun, summarise

    return summarise(
        [
            RepeatedRun(one.path.name, one.folder.info["seed"], one.judged, one.analysis, one.folder.read_events())
            for one in results
        ]
    )


def tell(text: str) -> None:
    """Print a line above what changes in place."""
    print(f"s2g: {text}", file=sys.stderr, flush=True)


def page_beside(
    args: argparse.Namespace, tell: Callable[[str], None]
) -> Callable[[RunFolder], AbstractContextManager[None]]:
    """What goes on beside the run: the server of its page, with ``--live``."""
    if not args.live:
        return lambda _folder: nullcontext()
    from stream2gym.web.live_server import live_page

    return lambda folder: live_page(folder.path, tell, read_only=args.read_only, port=args.port)


def read_time(text: str) -> str:
    """The length of the load as an experiment writes it. A bare number is seconds, as published."""
    written = f"{text} s" if text.strip().replace(".", "", 1).isdigit() else text
    try:
        Duration.parse(written)
    except ValueError as error:
        raise BadInput(Mistake("--time", str(error))) from None
    return written


def as_json(result: Result) -> dict[str, object]:
    return {
        "run": result.path.name,
        "path": str(result.path),
        "state": result.state,
        "verdict": result.verdict,
        "summary": result.summary,
        "findings": [finding.describe() for finding in result.tell()],
        "reasons": list(result.reasons),
        "error": None if result.error is None else str(result.error),
        "report": None if result.report is None else str(result.report),
        "exit_code": result.exit_code,
        "details": result.judged.to_json(),
    }
