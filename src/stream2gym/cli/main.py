"""The command line. Each command is a module of this package with ``add`` and ``run``."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from stream2gym.errors import BadInput, Interrupted, S2gError
from stream2gym.interrupts import Interrupts
from stream2gym.temporary_folder import choose_temporary_folder
from stream2gym.version import __version__

READER_LEFT = 141  # as a shell shows the signal that ends other programs then
# In the order in which people need them.
COMMANDS = {
    "examples": "list the bundled experiments: what each shows, needs and takes",
    "run": "run an experiment, judge it and write its report",
    "watch": "show a run in the browser: live, or its replay",
    "sweep": "run an experiment at many points and show how its responses depend on them",
    "conformance": "hold engines against each other, requirement by requirement",
    "new": "make a folder with a pipeline of programs to start your own from",
    "validate": "check an experiment and show every mistake at once",
    "plan": "show what a run would do: placement, addresses, links, paths",
    "shell": "run a command on a host: of an experiment's network, or of a run that goes on",
    "forward": "make a port of this machine lead to a host, or to the brokers, of a run that goes on",
    "topic": "list the topics of a run that goes on, or show their last messages",
    "capture": "write the packets of a link of a run that goes on to a pcap file",
    "fault": "inject a fault into a running run, heal it, or list the faults in force",
    "job": "list the components of a running run; submit, stop or move one",
    "runs": "list the runs in a folder",
    "logs": "show what the components of a run wrote",
    "report": "write the report of a run again, also as Markdown, JUnit or OpenMetrics, or one figure of it",
    "judge": "judge a recorded run by other expectations",
    "export": "write the tables of a run as CSV, Parquet or JSON files",
    "compare": "compare runs; fail when one is worse than the first",
    "clean": "remove old runs",
    "convert": "turn GraphML into an experiment YAML, or back",
    "completion": "print the script that makes bash, zsh or fish complete the command line",
    "schema": "print the JSON Schema of the experiment format, for editors",
    "setup": "fetch the real software once; runs need no network afterwards",
    "doctor": "show what this machine can do, and the remedy for what it cannot",
}
EPILOG = """\
Start with 's2g run hello'. 's2g COMMAND --help' explains a command.
Exit codes: 0 pass, 1 fail, 2 bad input, 3 unknown, 4 this machine cannot, 130 interrupted.
"""
# What ./s2g adds to the command in a clone.
CLONE_EPILOG = """\
In this clone: './s2g test' runs the tests ('./s2g test unit' one suite), './s2g bench' the benchmarks,
'./s2g docs' builds the documentation site.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with Interrupts(ends_process=True) as interrupts:
        return run_command(list(sys.argv[1:] if argv is None else argv), interrupts)


def make_parser(wanted: str) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser | None]:
    """The parser of the command line, and that of the wanted command.

    Only the wanted command knows its arguments, because every command is a module that takes time to import.
    """
    parser = argparse.ArgumentParser(
        prog="s2g",
        description="System-test stream processing applications on an emulated network.",
        epilog=EPILOG + (CLONE_EPILOG if is_clone() else ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stream2gym {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = None
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == wanted:
            importlib.import_module(f"stream2gym.cli.{name}").add(command)
            chosen = command
    return parser, chosen


def run_command(arguments: list[str], interrupts: Interrupts) -> int:
    """Run one command and return its exit code, ``Interrupted.exit_code`` after a signal that asked for the end."""
    choose_temporary_folder()
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
    if "_ARGCOMPLETE" in os.environ:
        from stream2gym.cli.completers import complete, find_wanted_command

        complete(*make_parser(find_wanted_command(os.environ.get("COMP_LINE", ""))))
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    if wanted and wanted not in COMMANDS:
        print(f"s2g: {describe_unknown(wanted)}", file=sys.stderr)
        return BadInput.exit_code
    if not arguments:
        arguments = ["--help"]
    parser, _ = make_parser(wanted)
    own, tail = split_tail(arguments)
    if own and own[0] == wanted:
        arrange = getattr(importlib.import_module(f"stream2gym.cli.{wanted}"), "arrange", list)
        own = [wanted, *arrange(own[1:])]
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


def is_clone() -> bool:
    """Whether this is the source of a clone, which has tests and benchmarks beside it."""
    root = Path(__file__).resolve().parents[3]
    return (root / "s2g").is_file() and (root / "tests" / "run.py").is_file()


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
