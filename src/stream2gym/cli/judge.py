"""``judge``: judge a recorded run by other expectations; nothing runs again and nothing in its folder changes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from stream2gym.cli.arguments import add_json, add_run
from stream2gym.errors import BadInput, Mistake


def add(parser: argparse.ArgumentParser) -> None:
    add_run(parser, nargs="?")
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="EXPECTATION",
        help="such as 'latency.p99 < 2 s'; may be given several times (default: those of the experiment)",
    )
    add_json(parser, "the verdict")
    parser.epilog = "Exit codes are those of run."


def run(args: argparse.Namespace) -> int:
    from stream2gym.analysis.analyse import load_analysis
    from stream2gym.cli.run_summary import SummaryPrinter
    from stream2gym.judge.judge import judge
    from stream2gym.record.folder import find_run

    mistakes = find_mistakes(args.expect)
    folder = None
    try:
        folder = find_run(args.run)
        check_analysed(folder.path, args.run)
    except BadInput as error:
        mistakes += error.mistakes
    if mistakes or folder is None:
        raise BadInput(mistakes)
    expectations = args.expect or read_expectations(folder.path)
    verdict = judge(expectations, load_analysis(folder.path), folder.read_events())
    if args.json:
        described = verdict.to_json() | {"run": folder.path.name, "exit_code": verdict.exit_code}
        print(json.dumps(described, indent=1))
    else:
        SummaryPrinter(quiet=False).verdict(verdict)
    return verdict.exit_code


def find_mistakes(expectations: list[str]) -> list[Mistake]:
    """The expectations that cannot be read, each with what is wrong with it."""
    from stream2gym.kinds.expectation_grammar import parse_expectation

    found = []
    for text in expectations:
        try:
            parse_expectation(text)
        except ValueError as error:
            found.append(Mistake(f"--expect {text!r}", str(error)))
    return found


def check_analysed(folder: Path, reference: str) -> None:
    """Raise BadInput for a run without an analysis."""
    if not (folder / "analysis.json").is_file():
        hint = f"s2g report {reference} --again analyses what there is, once the run is over"
        raise BadInput(Mistake(reference, "has not been analysed", hint))


def read_expectations(folder: Path) -> list[str]:
    """The expectations of the experiment of a run."""
    import yaml

    experiment = yaml.safe_load((folder / "experiment.yaml").read_text("utf-8"))
    return [str(text) for text in experiment.get("expect") or []]
