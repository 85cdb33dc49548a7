"""``sweep``: run an experiment at many points, and judge the shapes of its responses."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from stream2gym.errors import BadInput, Mistake
from stream2gym.execution.view import SilentView, View
from stream2gym.figures.number_text import show
from stream2gym.sweeps.agreement_table import show_agreement
from stream2gym.sweeps.point import MeasuredResponse, PointResult
from stream2gym.sweeps.run_points import SweepProgress, describe_left
from stream2gym.sweeps.sweep_plan import PlannedPointRun

if TYPE_CHECKING:
    from stream2gym.sweep_group import SweepGroup
    from stream2gym.sweeps.sweep_results import SweepResult

MOST_VALUES = 3
# Bounds that are farther apart than this share of the value are shown with it.
FAR_APART = 0.1


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a sweep file, or the name of a bundled sweep; published, or a folder of sweeps: all of them",
    )
    parser.add_argument("--quick", action="store_true", help="a coarse pass: few values of each axis, one repeat")
    add_repeats(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="run N points at once (here it spoils timing)")
    parser.add_argument(
        "--master",
        metavar="URL",
        help="run the points on the workers of this Spark cluster, such as spark://HOST:7077",
    )
    parser.add_argument(
        "--keep",
        choices=("all", "summaries"),
        help="summaries: remove messages, logs and figures of each run when it is judged (default: all; of "
        "several sweeps: summaries)",
    )
    add_retry(parser)
    parser.add_argument(
        "--resume",
        nargs="?",
        const="latest",
        metavar="SWEEP",
        help="go on with a sweep that was interrupted: its folder (default: the newest of this name)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where it goes (default: sweeps/NAME-...)")
    parser.add_argument("--yes", action="store_true", help="agree to more than a thousand runs")
    parser.add_argument("--plan", action="store_true", help="check everything and list the runs; run none")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="of several sweeps: write their page here, such as docs/results.md"
    )
    parser.add_argument(
        "--from",
        dest="from_",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="of several sweeps: run nothing, write the page from sweeps that are there",
    )
    add_overwrite(parser)
    parser.add_argument("--json", action="store_true", help="print JSON: the result, and progress on standard error")


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="with --write: a coarse pass, or a part of a sweep, replaces whole results that the page has",
    )


def add_repeats(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="run every point N times (default: as the file says)"
    )


def add_retry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--retry",
        action="store_true",
        help="run once more, at the end, what did not go through or what a busy machine left in doubt",
    )


def choose_repeats(args: argparse.Namespace) -> dict[str, Any]:
    """The key of the sweep file that ``--repeats`` replaces."""
    if args.repeats is None:
        return {}
    if args.quick:
        raise BadInput(Mistake("--repeats", "a coarse pass runs every point once", "leave out --quick or --repeats"))
    return {"repeats": args.repeats}


def check_page_options(args: argparse.Namespace) -> None:
    """BadInput for a page that could not be written, and for options that mean nothing beside others."""
    from stream2gym.sweep_group_page import check_page

    mistakes = []
    if args.from_ is not None:
        names = ("quick", "repeats", "keep", "retry", "resume", "out", "plan")
        given = [name for name in names if getattr(args, name, None) not in (None, False)]
        mistakes += [Mistake(f"--{name}", "nothing is run with --from", "leave out one of them") for name in given]
    if args.overwrite and args.write is None:
        mistakes.append(Mistake("--overwrite", "is about a page, and none is written", "--write FILE"))
    if mistakes:
        raise BadInput(mistakes)
    if args.write is not None:
        check_page(args.write)


def tell_kept(kept: Sequence[str], view: Progress | JsonProgress) -> None:
    """Say of which results the page keeps what it had."""
    if kept:
        names = ", ".join(kept)
        view.note(
            f"the page keeps the whole results of {names}; --overwrite puts what was measured now in their place"
        )


def run(args: argparse.Namespace) -> int:
    from stream2gym.sweep_group import find_group

    group = find_group(args.file)
    if group is not None:
        return run_group(args, group)
    refuse_group_options(args)
    if args.plan:
        return show_plan(args.file, args)
    from stream2gym.sweep_api import sweep

    view = JsonProgress() if args.json else Progress()
    result = sweep(
        args.file,
        quick=args.quick,
        jobs=args.jobs,
        master=args.master,
        keep=args.keep or "all",
        retry=args.retry,
        resume=args.resume,
        out=args.out,
        yes=args.yes,
        view=view,
        interrupts=args.interrupts,
        **choose_repeats(args),
    )
    if args.json:
        print(json.dumps(result.to_json(), indent=1))
    else:
        show_result(result)
    return result.exit_code


def refuse_group_options(args: argparse.Namespace) -> None:
    """Options that only several sweeps have."""
    given = {"--write": args.write is not None, "--from": args.from_ is not None, "--overwrite": args.overwrite}
    wrong = [word for word, is_given in given.items() if is_given]
    if wrong:
        hint = "s2g sweep published, or a folder of sweeps; of one sweep 's2g report FOLDER' writes the report"
        raise BadInput([Mistake(word, "is for several sweeps", hint) for word in wrong])


def run_group(args: argparse.Namespace, group: SweepGroup) -> int:
    """Run several sweeps, or read what ran, and write their page."""
    from stream2gym import sweep_group
    from stream2gym.sweep_group_page import write_page

    if args.jobs not in (None, 1):
        raise BadInput(Mistake("--jobs", "several sweeps measure time: their runs go one by one", "leave it out"))
    if args.master is not None:
        raise BadInput(Mistake("--master", "several sweeps run on this machine", "name one sweep"))
    check_page_options(args)
    if args.plan:
        for file in group.files.values():
            show_plan(str(file), args)
        return 0
    view = JsonProgress() if args.json else Progress()
    if args.from_ is not None:
        result = sweep_group.load_group(group, args.from_)
    else:
        result = sweep_group.run_group(
            group,
            quick=args.quick,
            keep=args.keep or "summaries",
            retry=args.retry,
            resume=args.resume,
            out=args.out,
            yes=args.yes,
            view=view,
            interrupts=args.interrupts,
            **choose_repeats(args),
        )
    options = " --from FOLDER" if args.from_ is not None else " --quick" if args.quick else ""
    command = f"s2g sweep {group.name}{options} --write FILE"
    pages = [args.write] if args.write is not None else []
    pages += [result.path / sweep_group.PAGE] if result.path is not None else []
    for page in pages:
        # The page in the folder of the sweeps shows what is there.
        overwrite = args.overwrite or page != args.write
        tell_kept(write_page(result, page, command, overwrite=overwrite), view)
    if args.json:
        print(json.dumps(result.to_json(), indent=1))
        return result.exit_code
    for entry in result.entries:
        print(f"{entry.name}: {entry.result.summary if entry.result else f'not run: {entry.missing}'}")
        if entry.result is not None:
            print("\n".join(show_agreement(entry.result.judged.agreement)))
    for page in pages:
        print(f"page:    {page}")
    return result.exit_code


def show_plan(word: str, args: argparse.Namespace) -> int:
    """List the runs in their order."""
    from stream2gym.sweep_api import load_settings, plan_sweep
    from stream2gym.sweeps.check_points import check_points

    loaded = load_settings(word, None, choose_repeats(args))
    plan = plan_sweep(loaded.file, quick=args.quick, yes=args.yes)
    checked = check_points(loaded, plan)
    if args.json:
        print(json.dumps(plan.to_json(), indent=1))
        return 0
    for warning in checked.warnings:
        print(f"s2g: warning: {warning}", file=sys.stderr)
    for run_ in plan.runs:
        print(f"{run_.name}  seed {run_.seed}  {run_.words}")
    print(f"{len(plan.points())} points, {len(plan.runs)} runs")
    return 0


def show_result(result: SweepResult, out: TextIO | None = None) -> None:
    out = out or sys.stdout
    for shape in result.judged.shapes:
        print(f"  {shape.outcome:<7}  {shape.text}\n           {shape.reason}", file=out)
    agreement = show_agreement(result.judged.agreement)
    if agreement:
        print("\n".join(["agreement with published values:", *agreement]), file=out)
    if result.stopped:
        print(f"  {result.stopped}", file=out)
    print(f"verdict: {result.summary}", file=out)
    print(f"table:   {result.path / 'responses.csv'}", file=out)
    print(f"report:  {result.report}", file=out)


class Progress:
    """A line for each run that ended, with what it measured and the time that is left; live on a terminal."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def started(self, run: PlannedPointRun, progress: SweepProgress) -> View:
        if self._out.isatty():
            self._say(f"  {progress.ended + 1}/{progress.total} {run.words} ...", end="\r")
        return SilentView()

    def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None:
        said = result.verdict if result.state == "done" else result.state
        values = "  ".join(describe_responses(result.measured[:MOST_VALUES]))
        why = "" if result.state == "done" else "  " + result.error.partition("\n")[0]
        left = describe_left(progress.left_s) if progress.ended < progress.total else ""
        of_all = describe_left(progress.all_left_s)
        told = [f"{left} left"] * bool(left) + [f"{of_all} of all sweeps"] * bool(of_all)
        tail = f"  ({', '.join(told)})" if told and result.state != "interrupted" else ""
        self._say(f"{progress.ended}/{progress.total}  {run.words}  {said}  {values}{why}{tail}")

    def note(self, text: str) -> None:
        self._say(text)

    def _say(self, text: str, end: str = "\n") -> None:
        with self._lock:
            clear = "\x1b[2K" if self._out.isatty() else ""
            print(f"{clear}[{time.monotonic() - self._began:7.1f} s] {text}", file=self._out, end=end, flush=True)


def describe_responses(measured: Sequence[MeasuredResponse]) -> list[str]:
    """Responses for people. A response with one value needs no word about what the value belongs to."""
    counts = Counter(one.response for one in measured)
    return [describe_response(one if counts[one.response] > 1 else replace(one, item="")) for one in measured]


def describe_response(one: MeasuredResponse) -> str:
    """A response for people: ``latency.p99 = 49.9 ms``, with its bounds if they are far apart."""
    name = f"{one.response} {one.item}".rstrip()
    if one.value is None or one.low is None or one.high is None:
        return f"{name} unknown"
    shown = f"{name} = {show(one.value, one.unit)}"
    if one.high - one.low <= FAR_APART * abs(one.value):
        return shown
    return f"{shown} [{show(one.low, one.unit)} to {show(one.high, one.unit)}]"


class JsonProgress:
    """One JSON object on each line of standard error."""

    def started(self, run: PlannedPointRun, progress: SweepProgress) -> View:
        return SilentView()

    def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None:
        told: dict[str, object] = {
            "run": run.name,
            "values": run.values,
            "state": result.state,
            "verdict": result.verdict,
        }
        told |= {"ended": progress.ended, "total": progress.total, "left_s": progress.left_s}
        told |= {} if progress.all_left_s is None else {"all_left_s": progress.all_left_s}
        print(json.dumps(told, default=str), file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        print(json.dumps({"note": text}), file=sys.stderr, flush=True)
