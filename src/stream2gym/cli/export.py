"""``export``: write the tables of a run as CSV, Parquet or JSON files for other tools."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.cli.arguments import add_json, add_run
from stream2gym.cli.judge import read_analysis
from stream2gym.errors import BadInput, Mistake

if TYPE_CHECKING:
    from stream2gym.record.folder import RunFolder


def add(parser: argparse.ArgumentParser) -> None:
    add_run(parser, nargs="?")
    parser.add_argument(
        "--format",
        choices=("csv", "parquet", "json"),
        default="csv",
        help="of the files (default: csv; json: one object on each line)",
    )
    parser.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME",
        help="only this table; may be given several times (default: all that have rows)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write them (default: RUN-FORMAT here)")
    add_json(parser, "the list of files")


def run(args: argparse.Namespace) -> int:
    from stream2gym.analysis.run_tables import list_tables
    from stream2gym.record.folder import find_run

    folder = find_run(args.run)
    known = list_tables(folder)
    check_exportable(folder, args.run)
    mistakes = find_unknown(args.table, known)
    target: Path = args.out or Path(f"{folder.path.name}-{args.format}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        mistakes.append(Mistake("--out", f"{target} exists and is not an empty folder", "name another one"))
    if mistakes:
        raise BadInput(mistakes)
    written = export_tables(folder, args.table or known, target, args.format)
    if args.json:
        files = [{"table": name, "file": str(file), "rows": rows} for name, file, rows in written]
        print(json.dumps(files, indent=1))
        return 0
    for _, file, rows in written:
        print(f"{rows:>12,}  {file}")
    return 0


def check_exportable(folder: RunFolder, reference: str) -> None:
    """Raise BadInput for a run whose record is not sealed yet."""
    if not folder.info.get("sealed"):
        hint = "wait until it ends" if folder.is_running() else f"s2g report {reference} --again seals what there is"
        raise BadInput(Mistake(reference, "its record is not sealed", hint))


def find_unknown(wanted: list[str], known: list[str]) -> list[Mistake]:
    from stream2gym.spec.findings import did_you_mean

    return [
        Mistake(
            f"--table {name}", "there is no such table", did_you_mean(name, known) or f"tables: {', '.join(known)}"
        )
        for name in wanted
        if name not in known
    ]


def export_tables(folder: RunFolder, names: list[str], target: Path, form: str) -> list[tuple[str, Path, int]]:
    """Write the tables that have rows. Returns the name, the file and the number of rows of each."""
    from stream2gym.analysis.analyse import FILE
    from stream2gym.analysis.run_tables import find_recorded, read_rows
    from stream2gym.record.export import SUFFIXES, Format, export_file, export_rows

    chosen: Format = "parquet" if form == "parquet" else "json" if form == "json" else "csv"
    analysis = read_analysis(folder.path, str(folder.path)) if (folder.path / FILE).is_file() else None
    written = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            file = target / f"{name}{SUFFIXES[chosen]}"
            source = find_recorded(folder, name)
            if source is not None:
                written.append((name, file, export_file(source, file, chosen)))
                continue
            rows = read_rows(folder, name, analysis)
            if rows:
                written.append((name, file, export_rows(rows, file, chosen)))
    except OSError as error:
        raise BadInput(Mistake("--out", f"{target}: {error.strerror}", "name a folder with room")) from None
    return written
