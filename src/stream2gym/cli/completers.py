"""What a shell is offered when it completes a command line. It asks by calling the command with ``_ARGCOMPLETE``."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterable
from typing import Any

Completer = Callable[..., Iterable[str]]


def find_wanted_command(line: str) -> str:
    """The command on an unfinished line, such as ``run`` of ``s2g run he``; empty before it is written."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote is still open
        words = line.split()
    return next((word for word in words[1:] if not word.startswith("-")), "")


def complete(parser: argparse.ArgumentParser, command: argparse.ArgumentParser | None) -> None:
    """Answer the shell and end the process."""
    import argcomplete

    for action in command._actions if command else ():
        completer = COMPLETERS.get(action.dest)
        if completer is not None and not isinstance(action, argparse._HelpAction):
            setattr(action, "completer", completer)  # noqa: B010 (an attribute that argcomplete reads)
    argcomplete.autocomplete(parser, always_complete_options="long")


def complete_experiments(prefix: str, **_: Any) -> Iterable[str]:
    """Bundled examples, and files and folders that may hold an experiment."""
    from argcomplete.completers import FilesCompleter

    from stream2gym.spec.readers.bundled_examples import bundled_examples

    files = FilesCompleter(allowednames=("yaml", "yml", "graphml"))(prefix)
    return [*bundled_examples(), *files]


def complete_copies(**_: Any) -> Iterable[str]:
    from stream2gym.spec.readers.bundled_examples import bundled_examples, find_bundled_files

    return [*bundled_examples(), *find_bundled_files("*/sweep.yaml")]


def complete_runs(prefix: str, **_: Any) -> Iterable[str]:
    """The runs of this folder, newest first, and folders."""
    from argcomplete.completers import DirectoriesCompleter

    from stream2gym.record.folder import list_runs

    folders = DirectoriesCompleter()(prefix) if "/" in prefix else []
    return ["latest", *(folder.path.name for folder in list_runs()), *folders]


def complete_components(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    """The components of the run that stands before on the line."""
    from stream2gym.cli.logs import component_names
    from stream2gym.record.folder import find_run

    return component_names(find_run(getattr(parsed_args, "run", None) or "latest"))


def complete_tables(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    from stream2gym.analysis.run_tables import list_tables
    from stream2gym.record.folder import find_run

    return list_tables(find_run(getattr(parsed_args, "run", None) or "latest"))


def _quietly(completer: Completer) -> Completer:
    """A completer that offers nothing where it fails: a shell has no use for an error in the middle of a line."""

    def ask(**arguments: Any) -> Iterable[str]:
        try:
            return list(completer(**arguments))
        except Exception:
            if os.environ.get("_ARC_DEBUG"):
                raise
            return []

    return ask


COMPLETERS: dict[str, Completer] = {
    "experiment": _quietly(complete_experiments),
    "copy": _quietly(complete_copies),
    "run": _quietly(complete_runs),
    "runs": _quietly(complete_runs),
    "component": _quietly(complete_components),
    "table": _quietly(complete_tables),
}
