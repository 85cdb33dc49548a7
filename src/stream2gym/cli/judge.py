"""``judge``: judge a recorded run by other expectations; nothing runs again and nothing in its folder changes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.cli.arguments import add_json, add_run
from stream2gym.errors import BadInput, Mistake

if TYPE_CHECKING:
    from stream2gym.analysis.result_tables import Analysis


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
    from stream2gym.cli.run_summary import SummaryPrinter
    from stream2gym.judge.judge import judge
    from stream2gym.record.folder import find_run

    mistakes = find_mistakes(args.expect)
    try:
        folder = find_run(args.run)
        analysis = read_analysis(folder.path, args.run)
        expectations = args.expect or read_expectations(folder.path)
    except BadInput as error:
        raise BadInput([*mistakes, *error.mistakes]) from None
    if mistakes:
        raise BadInput(mistakes)
    verdict = judge(expectations, analysis, folder.read_events())
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


def read_analysis(folder: Path, reference: str) -> Analysis:
    """The analysis of a run. BadInput for a run without one, or with one that cannot be read."""
    from stream2gym.analysis.analyse import FILE, load_analysis

    hint = f"s2g report {reference} --again analyses what there is, once the run is over"
    if not (folder / FILE).is_file():
        raise BadInput(Mistake(reference, "has not been analysed", hint))
    try:
        return load_analysis(folder)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"its analysis cannot be read ({type(error).__name__})"
        raise BadInput(Mistake(reference, what, hint)) from None


def read_expectations(folder: Path) -> list[str]:
    """The expectations of the experiment of a run."""
    import yaml

    try:
        experiment = yaml.safe_load((folder / "experiment.yaml").read_text("utf-8"))
        return [str(text) for text in experiment.get("expect") or []]
    except (OSError, ValueError, AttributeError, yaml.YAMLError):
        what = "its experiment.yaml cannot be read"
        raise BadInput(Mistake(folder.name, what, "name expectations with --expect")) from None
