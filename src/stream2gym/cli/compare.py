"""``compare``: runs side by side, or two sweeps; with a tolerance, one that is worse than the first fails."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from stream2gym.cli.arguments import add_json, add_runs_folder
from stream2gym.errors import BadInput, Mistake
from stream2gym.record.folder import find_run
from stream2gym.units import Share


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="folders, names, or latest; the others are compared with the first; or the folders of two sweeps",
    )
    parser.add_argument(
        "--tolerance",
        metavar="SHARE",
        help="fail when a run is worse than the first by more than this, such as 10%%",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="METRIC",
        help="compare this, too, such as 'latency.p99(topic=in)'",
    )
    add_runs_folder(parser)
    add_json(parser, "the comparison")


def run(args: argparse.Namespace) -> int:
    from stream2gym.analysis.analyse import FILE, load_analysis
    from stream2gym.judge.compare import compare, parse_metric
    from stream2gym.judge.verdict import EXIT_CODES

    if any(is_sweep(reference) for reference in args.runs):
        return compare_two_sweeps(args)
    mistakes = [Mistake("RUN", "one run cannot be compared", "name at least two")] if len(args.runs) < 2 else []
    tolerance = parse_tolerance(args.tolerance, mistakes)
    for text in args.metric:
        try:
            parse_metric(text)
        except ValueError as error:
            mistakes.append(Mistake(f"--metric {text}", str(error)))
    runs = []
    for reference in args.runs:
        try:
            folder = find_run(reference, args.base)
        except BadInput as error:
            mistakes += error.mistakes
            continue
        if (folder.path / FILE).is_file():
            runs.append((folder.path.name, load_analysis(folder.path), folder.read_events()))
        else:
            mistakes.append(Mistake(reference, "has not been analysed", "a run is analysed when it ends"))
    if mistakes:
        raise BadInput(mistakes)
    found = compare(runs, args.metric, tolerance)
    if args.json:
        print(json.dumps(found.to_json() | {"exit_code": EXIT_CODES[found.outcome]}, indent=1))
        return EXIT_CODES[found.outcome]
    head = ("", *found.runs)
    table = [head] + [
        (
            row.text,
            row.shown[0],
            *(f"{s}{_percent(c, row.values[0])}" for s, c in zip(row.shown[1:], row.change, strict=True)),
        )
        for row in found.rows
    ]
    widths = [max(len(line[column]) for line in table) for column in range(len(head))]
    marks = ["", *({"fail": "worse", "unknown": "unknown", "pass": ""}[row.outcome] for row in found.rows)]
    for line, mark in zip(table, marks, strict=True):
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        print(f"{cells}  {mark}".rstrip())
    for name in found.untrusted:
        print(f"{name}: the machine did not keep up all the time; its figures have bounds (--json)")
    if tolerance is not None:
        said = {"pass": "no run is worse than the first", "fail": "a run is worse than the first"}
        print(f"{said.get(found.outcome, 'some of it is unknown')} (tolerance {Share(tolerance)})")
    return EXIT_CODES[found.outcome]


def parse_tolerance(text: str | None, mistakes: list[Mistake]) -> float | None:
    """The tolerance as a share. What is none is added to the mistakes."""
    try:
        return None if text is None else float(Share.parse(text))
    except ValueError as error:
        mistakes.append(Mistake("--tolerance", str(error)))
        return None


def is_sweep(reference: str) -> bool:
    """Whether the word names the folder of a sweep."""
    return (Path(reference) / "sweep.json").is_file() or (Path("sweeps") / reference / "sweep.json").is_file()


def compare_two_sweeps(args: argparse.Namespace) -> int:
    """Two sweeps point by point."""
    from stream2gym.judge.verdict import EXIT_CODES
    from stream2gym.sweeps.compare_sweeps import compare_sweeps
    from stream2gym.sweeps.sweep_folder import find_sweep
    from stream2gym.sweeps.sweep_results import load_results

    mistakes = []
    if len(args.runs) != 2:
        mistakes.append(Mistake("RUN", f"{len(args.runs)} sweeps cannot be compared", "name two"))
    if args.metric:
        mistakes.append(Mistake("--metric", "sweeps are compared by their responses", "leave it out"))
    tolerance = parse_tolerance(args.tolerance, mistakes)
    found = []
    for reference in args.runs:
        try:
            found.append(load_results(find_sweep(reference)))
        except BadInput as error:
            mistakes += error.mistakes
    if mistakes:
        raise BadInput(mistakes)
    comparison = compare_sweeps(found[0], found[1], tolerance)
    code = EXIT_CODES[comparison.outcome]
    if args.json:
        print(json.dumps(comparison.to_json() | {"exit_code": code}, indent=1))
        return code
    table = [("", "", *comparison.sweeps, "")]
    for row in comparison.rows:
        mark = {"fail": "worse", "unknown": "unknown", "pass": ""}[row.outcome]
        name = f"{row.response} {row.item}".strip()
        table.append((name, row.point, row.shown[0], f"{row.shown[1]}{_percent(row.change, row.before)}", mark))
    widths = [max(len(line[column]) for line in table) for column in range(5)]
    for line in table:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
    for count, name in zip((comparison.only_before, comparison.only_after), comparison.sweeps, strict=True):
        if count:
            print(f"{count} points are in {name} only")
    if tolerance is not None:
        said = {"pass": "the second is not worse", "fail": "the second is worse"}
        print(f"{said.get(comparison.outcome, 'some of it is unknown')} (tolerance {Share(tolerance)})")
    return code


def _percent(change: float | None, first: float | None) -> str:
    if change is None or abs(change) < 5e-4:
        return ""
    if math.isinf(change):
        return " (new)" if first == 0 else ""
    return f" ({change:+.1%})"
