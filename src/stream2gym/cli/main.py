"""The command line: a thin door. Each command is a module of this package with ``add`` and ``run``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from stream2gym import __version__
from stream2gym.errors import S2gError

READER_LEFT = 141  # as a shell shows the signal that ends other programs then
COMMANDS = {
    "run": "run an experiment and show its result",
    "validate": "check an experiment; every mistake at once",
    "plan": "show what a run would do: placement, addresses, links, paths",
    "shell": "build the network and run a command on one of its hosts",
    "examples": "list the bundled experiments",
    "schema": "print the JSON Schema of the experiment format",
    "convert": "turn GraphML into an experiment YAML, or back",
    "runs": "list the runs of this folder",
    "fault": "break a running run by hand, heal it, list what is in force",
    "logs": "show what the components of a run wrote",
    "clean": "remove old runs",
    "setup": "fetch the real software once; runs need no network afterwards",
    "compare": "put runs side by side; fail when one is worse than the first",
    "report": "write the report of a run anew",
    "doctor": "say what this machine can do, and the remedy for what it cannot",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors that we raise on purpose never show a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="s2g", description="System-test stream processing applications on an emulated network."
    )
    parser.add_argument("--version", action="version", version=f"stream2gym {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == wanted:
            importlib.import_module(f"stream2gym.cli.{name}").add(command)
    own, tail = split_tail(arguments)
    args = parser.parse_args(own)
    args.tail = tail
    module = importlib.import_module(f"stream2gym.cli.{args.command}")
    try:
        return int(module.run(args))
    except S2gError as error:
        print(f"s2g: {error}", file=sys.stderr)
        return int(getattr(module, "EXIT_CODES", {}).get(type(error), error.exit_code))
    except KeyboardInterrupt:
        return 130
    except (
        BrokenPipeError
    ):  # whoever read our output has seen enough; nothing may be flushed to it at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT


def split_tail(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What stands before and after the first ``--``: the tail is a command of the user's, never ours to read."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]
