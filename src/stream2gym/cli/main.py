"""The command line. Each command is a module of this package with ``add`` and ``run``."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from stream2gym.errors import BadInput, Interrupted, S2gError
from stream2gym.interrupts import Interrupts
from stream2gym.version import __version__

READER_LEFT = 141  # as a shell shows the signal that ends other programs then
# In the order in which people need them.
COMMANDS = {
    "examples": "list the bundled experiments: what each shows, needs and takes",
    "run": "run an experiment, judge it and write its report",
    "watch": "show a run in the browser: live, or its replay",
    "sweep": "run an experiment at many points and show how its responses depend on them",
    "new": "make a folder with a pipeline of programs to start your own from",
    "validate": "check an experiment and show every mistake at once",
    "plan": "show what a run would do: placement, addresses, links, paths",
    "shell": "build the network and run a command on one of its hosts",
    "fault": "inject a fault into a running run, heal it, or list the faults in force",
    "runs": "list the runs in a folder",
    "logs": "show what the components of a run wrote",
    "report": "write the report of a run again",
    "compare": "compare runs; fail when one is worse than the first",
    "clean": "remove old runs",
    "convert": "turn GraphML into an experiment YAML, or back",
    "schema": "print the JSON Schema of the experiment format, for editors",
    "setup": "fetch the real software once; runs need no network afterwards",
    "doctor": "show what this machine can do, and the remedy for what it cannot",
}
EPILOG = """\
Start with 's2g run hello'. 's2g COMMAND --help' explains a command.
Exit codes: 0 pass, 1 fail, 2 bad input, 3 unknown, 4 this machine cannot, 130 interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with Interrupts(ends_process=True) as interrupts:
        return run_command(list(sys.argv[1:] if argv is None else argv), interrupts)


def run_command(arguments: list[str], interrupts: Interrupts) -> int:
    """Run one command and return its exit code, ``Interrupted.exit_code`` after a signal that asked for the end."""
    try:
        code = run_subcommand(arguments, interrupts)
        interrupts.stop_raising()
    except BaseException:
        # A KeyboardInterrupt inside an import comes out as whatever the imported package makes of it.
        if not interrupts.asked:
            raise
        return Interrupted.exit_code
    return Interrupted.exit_code if interrupts.asked else code


def run_subcommand(arguments: list[str], interrupts: Interrupts) -> int:
    """Call the module of the command; errors that we raise on purpose never show a traceback."""
    parser = argparse.ArgumentParser(
        prog="s2g",
        description="System-test stream processing applications on an emulated network.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stream2gym {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    if wanted and wanted not in COMMANDS:
        print(f"s2g: {describe_unknown(wanted)}", file=sys.stderr)
        return BadInput.exit_code
    if not arguments:
        arguments = ["--help"]
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == wanted:
            importlib.import_module(f"stream2gym.cli.{name}").add(command)
    own, tail = split_tail(arguments)
    args = parser.parse_args(own)
    args.tail = tail
    args.interrupts = interrupts
    module = importlib.import_module(f"stream2gym.cli.{args.command}")
    try:
        return int(module.run(args))
    except S2gError as error:
        print(f"s2g: {error}", file=sys.stderr)
        return int(getattr(module, "EXIT_CODES", {}).get(type(error), error.exit_code))
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing may be flushed to it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT


def describe_unknown(command: str) -> str:
    """What to say about a command that does not exist."""
    near = difflib.get_close_matches(command, COMMANDS, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"there is no command '{command}' ({hint}'s2g --help' lists all commands)"


def split_tail(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before and after the first ``--``; those after it are the user's command and are not parsed."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]
