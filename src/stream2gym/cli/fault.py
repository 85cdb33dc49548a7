"""``fault``: inject a fault into a running run, undo it, or list the faults in force."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from stream2gym.cli.arguments import add_json, add_run, add_set
from stream2gym.errors import BadInput, Mistake

EXAMPLES = """\
examples:
  s2g fault latest 'down h1 -- s1' --for 10s
  s2g fault latest 'degrade h1 -- s1' --set latency=50ms
  s2g fault latest list
  s2g fault latest heal NAME
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    add_run(parser)
    parser.add_argument(
        "what", metavar="FAULT", help="a kind and its target, such as 'kill broker-h2'; or: list, heal"
    )
    parser.add_argument("fault", metavar="NAME", nargs="?", help="the fault to heal")
    parser.add_argument("--for", dest="for_", metavar="TIME", help="undo it after this time (default: at the end)")
    parser.add_argument("--name", help="its name in events (default: from its kind)")
    add_set(parser, "a setting of the kind, such as latency=50ms (may be given several times)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from stream2gym.execution.fault_server import send_request
    from stream2gym.record.folder import find_run

    folder = find_run(args.run)
    question = question_of(args)
    if not folder.is_running():
        raise BadInput(Mistake(folder.path.name, "is over", "faults are for runs that go on"))
    answer = send_request(folder.path, question)
    if args.json:
        print(json.dumps(answer, indent=1))
    else:
        print("\n".join(words(question["do"], answer, time.monotonic_ns())))
    return 3 if question["do"] == "apply" and answer["failed"] else 0


def question_of(args: argparse.Namespace) -> dict[str, Any]:
    """The request to the run."""
    if args.what == "list":
        return {"do": "list"}
    if args.what == "heal":
        if not args.fault:
            raise BadInput(Mistake("heal", "does not say which fault", "s2g fault RUN heal NAME"))
        return {"do": "heal", "name": args.fault}
    if args.fault:
        raise BadInput(Mistake(args.fault, "one argument too many", f"quote the fault: '{args.what} {args.fault}'"))
    import yaml

    from stream2gym.spec.readers.overrides import pairs

    kind, _, target = args.what.strip().partition(" ")
    settings = {key: yaml.safe_load(value) for key, value in pairs(args.set, "latency=50ms").items()}
    fault: dict[str, Any] = {
        "do": kind,
        "on": [target.strip()] if target.strip() else [],
        "settings": settings,
    }
    if args.for_:
        fault["for"] = args.for_
    if args.name:
        fault["name"] = args.name
    else:
        fault["name"] = f"{kind}-by-hand-{time.monotonic_ns() // 1_000_000 % 1_000_000}"
    return {"do": "apply", "fault": fault}


def words(did: str, answer: Any, now_ns: int) -> list[str]:
    """The answer for a person."""
    if did == "apply":
        state = (
            "failed; see the events" if answer["failed"] else "in force" if answer["state"] == "active" else "done"
        )
        return [f"{answer['fault']}: {answer['do']} {', '.join(answer['on'])}: {state}"]
    if did == "heal":
        return [f"{one['fault']}: healed" for one in answer]
    lines = [_line(one, "in force", one["until_ns"], "until", now_ns) for one in answer["active"]]
    lines += [_line(one, "planned", one["at_ns"], "at", now_ns) for one in answer["planned"]]
    lines += [
        f"{one['fault']}: {one['do']} {', '.join(one['on'])}: waits for {one['for']}" for one in answer["waiting"]
    ]
    return lines or ["no fault is in force, planned or waiting"]


def _line(one: dict[str, Any], state: str, at_ns: int | None, word: str, now_ns: int) -> str:
    when = "" if at_ns is None else f", {word} {(at_ns - now_ns) / 1e9:+.1f} s"
    return f"{one['fault']}: {one['do']} {', '.join(one['on'])}: {state}{when}"
