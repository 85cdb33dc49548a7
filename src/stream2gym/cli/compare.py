"""``compare``: runs side by side; with a tolerance, a run that is worse than the first fails."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.record.folder import RUNS, find_run
from stream2gym.units import Share


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="folders, names, or latest; the first is the measure"
    )
    parser.add_argument(
        "--tolerance",
        metavar="SHARE",
        help="fail when a later run is worse than the first by more, like 10%%",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="METRIC",
        help="compare this too, like 'latency.p99(topic=in)'",
    )
    parser.add_argument(
        "--in", dest="base", type=Path, default=Path(RUNS), metavar="FOLDER", help="where runs lie"
    )
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    from stream2gym.analysis.analyse import FILE, load_analysis
    from stream2gym.judge.compare import compare, metric_of
    from stream2gym.judge.verdict import EXIT_CODES

    mistakes = (
        [Mistake("RUN", "one run cannot be compared", "name at least two")] if len(args.runs) < 2 else []
    )
    tolerance = None
    if args.tolerance is not None:
        try:
            tolerance = float(Share.parse(args.tolerance))
        except ValueError as error:
            mistakes.append(Mistake("--tolerance", str(error)))
    for text in args.metric:
        try:
            metric_of(text)
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
            *(f"{s}{_percent(c)}" for s, c in zip(row.shown[1:], row.change, strict=True)),
        )
        for row in found.rows
    ]
    widths = [max(len(line[column]) for line in table) for column in range(len(head))]
    marks = ["", *({"fail": "worse", "unknown": "unknown", "pass": ""}[row.outcome] for row in found.rows)]
    for line, mark in zip(table, marks, strict=True):
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        print(f"{cells}  {mark}".rstrip())
    for name in found.untrusted:
        print(f"{name}: the emulation did not keep up; its performance says little")
    if tolerance is not None:
        said = {"pass": "no run is worse than the first", "fail": "a run is worse than the first"}
        print(f"{said.get(found.outcome, 'some of it is unknown')} (tolerance {Share(tolerance)})")
    return EXIT_CODES[found.outcome]


def _percent(change: float | None) -> str:
    if change is None or abs(change) < 5e-4:
        return ""
    return " (new)" if math.isinf(change) else f" ({change:+.1%})"
