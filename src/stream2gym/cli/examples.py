"""``examples``: list the bundled experiments with what each shows, what it needs and how long it takes; then sweeps.

What it needs is counted in the experiment. The duration is the ``time`` of the experiment and the seconds that the
README of the example states for the rest of the command (start, drain, analysis and report).
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from stream2gym.errors import BadInput, Mistake

COLUMNS = 100  # where the output is no terminal
NARROWEST = 24  # of the column that wraps
_FENCE = "  "
_SWEEPS = "Sweeps, for s2g sweep:"
_PUBLISHED = "Published results, for s2g sweep (all of them: s2g sweep published):"
_REST = re.compile(r"takes its `time` and about (\d+) s\b")


@dataclass(frozen=True)
class Example:
    """One row of the list."""

    name: str
    path: str
    summary: str
    needs: dict[str, int] = field(default_factory=dict)
    seconds: int | None = None  # None: the README does not state the rest

    @property
    def needed(self) -> str:
        counts = [f"{count} {nouns.removesuffix('s' * (count == 1))}" for nouns, count in self.needs.items() if count]
        return ", ".join(counts) or ("hosts only" if self.needs else "")

    @property
    def takes(self) -> str:
        return "" if self.seconds is None else f"{self.seconds} s"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--copy", metavar="NAME", help="copy an example, or a sweep, to start from")
    parser.add_argument("--to", metavar="FOLDER", type=Path, help="where to copy it (default: NAME, here)")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> int:
    from stream2gym.spec.readers.bundled_examples import bundled_examples

    if args.copy is not None:
        return copy_example(args.copy, args.to or Path(args.copy))
    if args.to is not None:
        raise BadInput(Mistake("--to", "says where to copy an example, and none is named", "--copy NAME"))
    found = [describe(name, path) for name, path in bundled_examples().items()]
    if args.json:
        described = [{"name": one.name, "path": one.path, "summary": one.summary, "needs": one.needs,
                      "seconds": one.seconds} for one in found]  # fmt: skip
        print(json.dumps(described, indent=2))
    elif not found:
        print("there are no bundled examples here")
    else:
        columns = shutil.get_terminal_size((COLUMNS, 24)).columns
        print("\n".join([*table(found, columns), *list_sweeps(columns)]))
    return 0


def copy_example(name: str, target: Path) -> int:
    """Copy the folder of an example or of a sweep. BadInput for a folder that is in the way."""
    from stream2gym.spec.findings import did_you_mean
    from stream2gym.spec.readers.bundled_examples import bundled_examples
    from stream2gym.sweep_api import bundled_sweeps

    sweeps = bundled_sweeps()
    known = {**sweeps, **bundled_examples()}
    if name not in known:
        raise BadInput(Mistake(f"--copy {name}", "there is no such example", did_you_mean(name, known)))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadInput(Mistake("--to", f"{target} exists and is not an empty folder", "--to names another one"))
    leave_out = shutil.ignore_patterns("__pycache__", "*.pyc", "runs", "sweeps")
    try:
        shutil.copytree(known[name].parent, target, ignore=leave_out, dirs_exist_ok=True)
    except OSError as error:
        raise BadInput(Mistake("--to", f"{target} cannot be made: {error}", "name another folder")) from None
    word = "sweep" if name in sweeps else "run"
    where = target / known[name].name if name in sweeps else target
    path = str(where) if where.is_absolute() else f"./{where}"
    print(f"copied to {target}: {', '.join(sorted(one.name for one in target.iterdir()))}")
    print(f"run it with: s2g {word} {shlex.quote(path)}")
    return 0


def list_sweeps(columns: int) -> list[str]:
    """A line for each bundled sweep below a heading, those of published results below one of their own."""
    from stream2gym.sweep_api import bundled_sweeps

    lines: dict[str, list[str]] = {_SWEEPS: [], _PUBLISHED: []}
    found = bundled_sweeps()
    width = max(map(len, found), default=0)
    for name, path in found.items():
        readme = path.parent / "README.md"
        text = readme.read_text("utf-8") if readme.is_file() else path.read_text("utf-8")
        heading = _PUBLISHED if path.parent.parent.name == "published" else _SWEEPS
        room = max(NARROWEST, columns - width - len(_FENCE))
        first, *more = textwrap.wrap(first_sentence(text), room, break_on_hyphens=False) or [""]
        lines[heading].append(f"{name:<{width}}{_FENCE}{first}")
        lines[heading] += [f"{'':<{width}}{_FENCE}{line}" for line in more]
    return [line for heading, members in lines.items() if members for line in ("", heading, *members)]


def describe(name: str, path: Path) -> Example:
    """What the list says about one example; an experiment that is not valid has no needs."""
    from stream2gym.spec.loading import load_experiment

    readme = path.parent / "README.md"
    text = readme.read_text("utf-8") if readme.is_file() else ""
    summary = first_sentence(text or path.read_text("utf-8", errors="replace"))
    try:
        experiment = load_experiment(path).experiment
    except BadInput:
        return Example(name, str(path), summary)
    jobs = [engine for engine in experiment.engines if engine.app is not None]
    needs = {"brokers": len(experiment.brokers), "jobs": len(jobs), "stores": len(experiment.stores)}
    rest = _REST.search(" ".join(text.split()))
    seconds = None if rest is None else round(float(experiment.time)) + int(rest[1])
    return Example(name, str(path), summary, needs, seconds)


def first_sentence(text: str) -> str:
    """The first sentence (without its dot) of a README below its heading, or of the opening comment of a file."""
    lines = text.strip().splitlines()
    if lines and lines[0].startswith("# ") and len(lines) > 2 and not lines[1]:
        lines = lines[2:]
    paragraph = " ".join(" ".join(lines).lstrip("# ").split())
    return re.split(r"\.(?:\s|$)", paragraph, maxsplit=1)[0]


def table(examples: list[Example], columns: int) -> list[str]:
    """A line for each example; in a narrow terminal the summary continues on the next lines."""
    name_width = max(len(one.name) for one in examples)
    needs_width = max(len(one.needed) for one in examples)
    takes_width = max(len(one.takes) for one in examples)
    longest = max(len(one.summary) for one in examples)
    room = columns - name_width - needs_width - takes_width - 3 * len(_FENCE)
    width = max(NARROWEST, min(longest, room))
    lines = []
    for one in examples:
        first, *more = textwrap.wrap(one.summary, width, break_on_hyphens=False) or [""]
        cells = (f"{one.name:<{name_width}}", f"{first:<{width}}", f"{one.needed:<{needs_width}}",
                 f"{one.takes:>{takes_width}}")  # fmt: skip
        lines.append(_FENCE.join(cells).rstrip())
        lines += [f"{'':<{name_width}}{_FENCE}{line}" for line in more]
    return lines
