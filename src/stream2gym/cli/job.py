"""``job``: the components of a run that goes on: list them, submit another, stop one, move one to another host."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from stream2gym.cli.arguments import add_json, add_run, add_set
from stream2gym.errors import BadInput, Mistake

EXAMPLES = """\
examples:
  s2g job latest list
  s2g job latest submit more.yaml             every engine, consumer and producer of the file that the run lacks
  s2g job latest submit more.yaml late-reader --on h3
  s2g job latest move late-reader h1
  s2g job latest stop late-reader
"""
_SECTIONS = ("engines", "consumers", "producers")
_SETTLED = ("ready", "finished", "died", "stopped", "stopped by hand")


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "s2g job RUN list | submit FILE [NAME ...] [--on HOST] [--as NAME] | stop NAME | move NAME HOST"
    parser.epilog = EXAMPLES
    add_run(parser)
    parser.add_argument("do", choices=("list", "submit", "stop", "move"), help="what to do")
    parser.add_argument("words", metavar="WORD", nargs="*", help="a file and names, a name, or a name and a host")
    parser.add_argument("--on", metavar="HOST", help="the host of what is submitted (default: as its file says)")
    parser.add_argument("--as", dest="as_", metavar="NAME", help="the name in the run of the one that is submitted")
    parser.add_argument("--wait", type=float, default=60.0, metavar="S", help="until it is ready, at most (60 s)")
    add_set(parser, "a value of the file, such as consumers.0.group=g (may be given several times)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from stream2gym.execution.job_server import ask_jobs
    from stream2gym.record.folder import find_run

    check_words(args)
    folder = find_run(args.run)
    if not folder.is_running():
        raise BadInput(Mistake(folder.path.name, "is over", "jobs are for runs that go on"))
    if args.do == "submit":
        there = {one["name"] for one in ask_jobs(folder.path, {"do": "list"})}
        question = read_parts(args, there)
        names = ask_jobs(folder.path, question)
        jobs = wait_for(lambda: ask_jobs(folder.path, {"do": "list"}), names, args.wait)
        show(jobs, args.json)
        return 0 if all(one["state"] in ("ready", "finished") for one in jobs) else 3
    if args.do == "list":
        show(ask_jobs(folder.path, {"do": "list"}), args.json)
        return 0
    if args.do == "stop":
        answer = ask_jobs(folder.path, {"do": "stop", "name": args.words[0]})
        text = f"{answer['name']} on {answer['host']}: stopped"
    else:
        answer = ask_jobs(folder.path, {"do": "move", "name": args.words[0], "to": args.words[1]})
        text = f"{answer['name']}: moved from {answer['from']} to {answer['host']}"
    print(json.dumps(answer, indent=1) if args.json else text)
    return 0


def check_words(args: argparse.Namespace) -> None:
    """BadInput if there are too few or too many words for what is to be done."""
    number = len(args.words)
    usage = {"list": "list", "submit": "submit FILE [NAME ...]", "stop": "stop NAME", "move": "move NAME HOST"}
    fits = {"list": number == 0, "submit": number >= 1, "stop": number == 1, "move": number == 2}
    if not fits[args.do]:
        raise BadInput(Mistake(f"job {args.do}", f"got {number} words", f"s2g job RUN {usage[args.do]}"))
    if args.do != "submit" and (args.on or args.as_ or args.set):
        raise BadInput(
            Mistake(f"job {args.do}", "--on, --as and --set are for submit", f"s2g job RUN {usage[args.do]}")
        )


def read_parts(args: argparse.Namespace, there: set[str]) -> dict[str, Any]:
    """The request that submits parts of a file: those that are named, or all that the run does not have."""
    from stream2gym.spec.loading import find_experiment
    from stream2gym.spec.model.copies import has_copies, write_out_copies
    from stream2gym.spec.readers.overrides import apply_overrides, pairs
    from stream2gym.spec.readers.user_files import shown_path
    from stream2gym.spec.readers.yaml_reader import read_yaml

    path = find_experiment(args.words[0]).absolute()
    shown = shown_path(path, Path.cwd())
    if path.suffix.lower() not in (".yaml", ".yml", ".json"):
        raise BadInput(Mistake("", "is no experiment YAML", "'s2g convert' makes one of GraphML", shown))
    draft = read_yaml(path, shown)
    apply_overrides(draft, pairs(args.set, "consumers.0.group=g"))
    if draft.mistakes:
        raise BadInput(draft.mistakes)
    found: dict[str, list[dict[str, Any]]] = {}
    for section in _SECTIONS:
        items = draft.data.get(section) or []
        if has_copies(items):
            items = write_out_copies(list(items), (section,)).items
        found[section] = [dict(item) for item in items if isinstance(item, dict)]
    wanted = args.words[1:]
    names = [str(item.get("name")) for items in found.values() for item in items if item.get("name")]
    missing = [name for name in wanted if name not in names]
    if missing:
        hint = f"it has: {', '.join(names) or 'no engine, consumer or producer with a name'}"
        raise BadInput(
            [Mistake(name, "is no engine, consumer or producer of the file", hint, shown) for name in missing]
        )
    chosen = {
        section: [item for item in items if (item.get("name") in wanted if wanted else item.get("name") not in there)]
        for section, items in found.items()
    }
    parts = {section: items for section, items in chosen.items() if items}
    every = [item for items in parts.values() for item in items]
    if not every:
        raise BadInput(Mistake("", "has no engine, consumer or producer that the run lacks", "name one", shown))
    if any(not item.get("name") for item in every):
        raise BadInput(Mistake("", "has parts without a name", "a part that joins a run needs one", shown))
    if args.as_ and len(every) > 1:
        raise BadInput(
            Mistake("--as", f"{len(every)} parts cannot have one name", "name one part of the file", shown)
        )
    given = {key: value for key, value in (("on", args.on), ("name", args.as_)) if value}
    for item in every:
        item.update(given)
    return {"do": "submit", "folder": str(path.parent), "parts": parts}


def wait_for(ask: Any, names: list[str], most_s: float) -> list[dict[str, Any]]:
    """Ask until the jobs with these names are ready or over, or the time is."""
    until = time.monotonic() + most_s
    while True:
        jobs = [one for one in ask() if one["name"] in names]
        if all(one["state"] in _SETTLED for one in jobs) or time.monotonic() >= until:
            return jobs
        time.sleep(0.25)


def show(jobs: list[dict[str, Any]], as_json: bool) -> None:
    """Print the jobs as a table, or as JSON."""
    if as_json:
        print(json.dumps(jobs, indent=1))
        return
    print("\n".join(make_lines(jobs)))


def make_lines(jobs: list[dict[str, Any]]) -> list[str]:
    """The table of jobs for a person."""
    head = ("NAME", "KIND", "HOST", "ADDRESS", "STATE", "LISTENS ON")
    rows = [head]
    for one in jobs:
        kind = (
            one["kind"]
            if one["type"].lower() in (one["kind"], "standard", "kafka")
            else f"{one['kind']} {one['type']}"
        )
        places = ", ".join(one["listens"][:4]) + (" ..." if len(one["listens"]) > 4 else "")
        state = one["state"] + (" (submitted)" if one["submitted"] else "")
        rows.append((one["name"], kind, one["host"], one["address"], state, places or "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
