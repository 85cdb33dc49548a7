"""``run``: run an experiment and show its result: counts at once, then the verdict and where the report is."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.errors import BadInput, Mistake

if TYPE_CHECKING:
    from stream2gym.api import Result

_WORST = (0, 1, 3, 130)  # of several runs the worst one's code counts


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", metavar="EXPERIMENT", help="a path, or the name of a bundled example")
    parser.add_argument("--time", help="length of the load, like '30 s' (a bare number is seconds)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one value, like producers.gen.rate=50/s",
    )
    parser.add_argument("--seed", type=int, help="seed of routes, placement, loss and load")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where the record goes (default: runs/NAME-...)"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="run it N times, with seeds counting up"
    )
    parser.add_argument("--no-report", action="store_true", help="judge it, but write no report.html")
    parser.add_argument(
        "--master",
        metavar="URL",
        help="analyse the record on this Spark cluster, like spark://HOST:7077 (default: here)",
    )
    parser.add_argument("--tolerant", action="store_true", help="go on without files that are missing")
    parser.add_argument(
        "--capture-all", action="store_true", help="write the packets of every link to captures/"
    )
    parser.add_argument(
        "--only-spark", nargs="?", const="1", default="0", metavar="0|1", help="as published: read no topics"
    )
    parser.add_argument(
        "--json", action="store_true", help="for machines: the result on output, events on errors"
    )


def run(args: argparse.Namespace) -> int:
    if args.repeat < 1:
        raise BadInput(Mistake("--repeat", f"{args.repeat} is not a number of runs", "1 or more"))
    if args.repeat > 1 and args.out is not None:
        raise BadInput(
            Mistake("--out", "several runs do not fit into one folder", "leave it out with --repeat")
        )
    results: list[Result] = []
    for number in range(args.repeat):
        result = run_once(args, results[0].folder.info["seed"] + number if results else args.seed)
        if isinstance(result, int):
            return result
        results.append(result)
        if result.exit_code == 130:
            break
    if args.json:
        shown = [as_json(result) for result in results]
        print(json.dumps(shown[0] if args.repeat == 1 else shown, indent=1, default=str))
    codes = [result.exit_code for result in results]
    return max(codes, key=lambda code: _WORST.index(code) if code in _WORST else len(_WORST))


def run_once(args: argparse.Namespace, seed: int | None) -> Result | int:
    """One run; without components the links are measured instead, which gives an exit code."""
    from stream2gym.api import perform, prepare
    from stream2gym.cli.outcome import Teller
    from stream2gym.cli.views import choose_view

    script, loaded = prepare(
        args.experiment,
        time=None if args.time is None else seconds(args.time),
        overrides=dict(parse_set(text) for text in args.set),
        seed=seed,
        tolerant=args.tolerant,
        only_spark=args.only_spark not in ("0", ""),
        capture_all=args.capture_all,
    )
    for warning in (*map(str, loaded.warnings), *script.plan.warnings):
        print(f"s2g: warning: {warning}", file=sys.stderr)
    if not script.plan.components:
        from stream2gym.cli.links import show_links

        return show_links(script.plan, as_json=args.json)
    teller = Teller(quiet=args.json)
    view = choose_view(as_json=args.json)
    try:
        result = perform(
            script,
            loaded,
            out=args.out,
            report=not args.no_report,
            view=view,
            told=teller.counts,
            master=args.master,
        )
    finally:
        view.close()
    teller.result(result)
    return result


def seconds(text: str) -> str:
    """A bare number is seconds, as published."""
    return f"{text} s" if text.strip().replace(".", "", 1).isdigit() else text


def parse_set(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise BadInput(Mistake("--set", f"{text!r} changes nothing", "write it like --set time=30s"))
    return key.strip(), value


def as_json(result: Result) -> dict[str, object]:
    return {
        "run": result.path.name,
        "path": str(result.path),
        "state": result.state,
        "verdict": result.verdict,
        "reasons": list(result.reasons),
        "error": None if result.error is None else str(result.error),
        "report": None if result.report is None else str(result.report),
        "exit_code": result.exit_code,
        "details": result.judged.to_json(),
    }
