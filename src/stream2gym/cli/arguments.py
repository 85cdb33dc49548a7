"""The arguments that several commands have, each with one name and one help text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Literal

from stream2gym.record.folder import RUNS

RUN = "a run: its folder, its name, or latest"


def add_experiment(parser: argparse.ArgumentParser) -> None:
    """The experiment, and what to do about files that it names and that are missing."""
    text = "a .yaml or .graphml file, a folder with an experiment.yaml, or the name of a bundled example"
    parser.add_argument("experiment", metavar="EXPERIMENT", help=text)
    parser.add_argument("--tolerant", action="store_true", help="leave out components whose files are missing")


def add_seed(parser: argparse.ArgumentParser, what: str) -> None:
    """The seed of what chance decides."""
    parser.add_argument("--seed", type=int, metavar="N", help=f"seed of {what} (default: the experiment's)")


def add_run(parser: argparse.ArgumentParser, *, nargs: Literal["?"] | None = None, what: str = RUN) -> None:
    """A recorded run; without a word the latest, where ``nargs`` allows that."""
    text = what if nargs is None else f"{what} (default: latest)"
    parser.add_argument("run", metavar="RUN", nargs=nargs, default="latest", help=text)


def add_runs_folder(parser: argparse.ArgumentParser) -> None:
    """The folder that runs are in."""
    text = f"the folder that the runs are in (default: {RUNS})"
    parser.add_argument("--in", dest="base", type=Path, default=Path(RUNS), metavar="FOLDER", help=text)


def add_set(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Single values; may be given several times."""
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=help_text)


def add_json(parser: argparse.ArgumentParser, what: str = "the result") -> None:
    """Output for programs."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")
