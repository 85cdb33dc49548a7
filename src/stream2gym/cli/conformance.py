"""``conformance``: hold engines against each other, requirement by requirement, and write the page of it."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.cli.sweep import (
    JsonProgress,
    Progress,
    add_overwrite,
    add_repeats,
    add_retry,
    check_page_options,
    choose_repeats,
    tell_kept,
)
from stream2gym.errors import BadInput, Mistake

if TYPE_CHECKING:
    from stream2gym import sweep_group

GROUP = "engines-compared"
PAGE = "engines-compared.md"
# The order of the rules that the requirements are named after. Further ones follow.
ORDER = ("keeps-moving", "imperfect", "predictable", "stored-and-streaming", "safety", "scale", "respond")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "requirements", nargs="*", metavar="REQUIREMENT", help="such as keeps-moving (default: all of them)"
    )
    parser.add_argument("--quick", action="store_true", help="a coarse pass: few values, one run of each")
    add_repeats(parser)
    add_retry(parser)
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the sweeps go (default: below sweeps/)")
    parser.add_argument("--resume", metavar="FOLDER", help="go on with the sweeps in this folder")
    parser.add_argument(
        "--from", dest="from_", nargs="+", type=Path, metavar="FOLDER", help="run nothing, read sweeps that are there"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help=f"write the page here, too, such as docs/{PAGE}")
    add_overwrite(parser)
    parser.add_argument("--json", action="store_true", help="print JSON: the result, and progress on standard error")


def run(args: argparse.Namespace) -> int:
    from stream2gym import sweep_group
    from stream2gym.sweep_group_page import write_page
    from stream2gym.sweeps.engine_table import draw_entry, list_engines, make_engine_page, make_table

    group = choose(args.requirements)
    check_page_options(args)
    view = JsonProgress() if args.json else Progress()
    if args.from_ is not None:
        result = sweep_group.load_group(group, args.from_)
    else:
        result = sweep_group.run_group(
            group, quick=args.quick, keep="all", retry=args.retry, resume=args.resume, out=args.out, view=view,
            interrupts=args.interrupts, **choose_repeats(args),
        )  # fmt: skip
    options = ["--from FOLDER"] if args.from_ is not None else ["--quick"] if args.quick else []
    command = " ".join(["s2g conformance", *args.requirements, *options, "--write FILE"])
    pages = {} if args.write is None else {args.write: add_others(result) if args.write.is_file() else result}
    pages |= {} if result.path is None else {result.path / PAGE: result}
    for page, shown in pages.items():
        # The page in the folder of the sweeps shows what is there.
        overwrite = args.overwrite or page != args.write
        kept = write_page(shown, page, command, overwrite=overwrite, make=make_engine_page, draw=draw_entry)
        tell_kept(kept, view)
    if args.json:
        print(json.dumps(result.to_json(), indent=1))
    else:
        engines = list_engines(result.entries)
        for entry in result.entries:
            if entry.result is None:
                print(f"{entry.name}: not run: {entry.missing}\n")
            else:
                table = make_table(entry.result.file, entry.result.rows, engines)
                print("\n".join([f"{entry.name}: {entry.result.summary}", *table]), end="\n\n")
        for page in pages:
            print(f"page:    {page}")
    return result.exit_code


def choose(requirements: list[str]) -> sweep_group.SweepGroup:
    """The bundled sweeps, or those of them that are named."""
    from stream2gym import sweep_group

    found = sweep_group.find_group(GROUP)
    if found is None:
        raise BadInput(f"the bundled sweeps {GROUP} are not there")
    unknown = [name for name in requirements if name not in found.files]
    if unknown:
        hint = f"there are: {', '.join(found.files)}"
        raise BadInput([Mistake(name, "is no requirement that is measured", hint) for name in unknown])
    names = [name for name in ORDER if name in found.files]
    names += [name for name in found.files if name not in names]
    chosen = {name: found.files[name] for name in names if not requirements or name in requirements}
    return sweep_group.SweepGroup(GROUP, chosen)


def add_others(result: sweep_group.GroupResult) -> sweep_group.GroupResult:
    """The result with entries for the requirements that were not asked for: a page that has them keeps them."""
    from stream2gym.sweep_group import describe_missing

    measured = {entry.name: entry for entry in result.entries}
    entries = [
        measured.get(name) or describe_missing(name, file, "it was not asked for")
        for name, file in choose([]).files.items()
    ]
    return replace(result, entries=tuple(entries))
