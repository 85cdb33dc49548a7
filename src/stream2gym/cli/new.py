"""``new``: make a folder with a pipeline of programs that run at once, to start one's own from."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from pathlib import Path

from stream2gym.errors import BadInput, Mistake

TEMPLATE = "own-pipeline"
# As experiments may be called: the name of the folder is that of the experiment.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make a folder PROJECT with an experiment, a producer, a PySpark job, a consumer, a check of their results "
        "and a README. It runs at once: s2g run PROJECT/"
    )
    parser.add_argument("project", metavar="PROJECT", type=Path, help="the folder; it must be new, or empty")


def run(args: argparse.Namespace) -> int:
    folder: Path = args.project
    make_project(folder)
    here = shlex.quote(str(folder))
    print(f"made {here}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    print(f"run it with: s2g run {here}/")
    return 0


def make_project(folder: Path) -> None:
    """Copy the template into a folder that is new or empty; BadInput says what is in the way."""
    from stream2gym.spec.readers.bundled_examples import bundled_examples

    name = folder.absolute().name
    if not _NAME.fullmatch(name):
        what = f"{name!r} is no name of an experiment"
        raise BadInput(Mistake("", what, "letters, digits, '.', '_' and '-', the first one a letter or digit"))
    source = bundled_examples()[TEMPLATE].parent
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise BadInput(Mistake("", "is there already and not empty", "give another name", str(folder)))
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(source.iterdir()):
            if file.is_file():
                shutil.copyfile(file, folder / file.name)
        for named in ("experiment.yaml", "README.md"):
            text = (source / named).read_text("utf-8")
            (folder / named).write_text(_renamed(text, name), "utf-8")
    except OSError as error:
        raise BadInput(Mistake("", f"cannot be made: {error.strerror}", "", str(folder))) from error


def _renamed(text: str, name: str) -> str:
    """The text with the project's name in place of the template's; what speaks of the template itself goes."""
    kept = [line for line in text.splitlines() if "s2g new" not in line]
    text = "\n".join(kept).rstrip() + "\n"
    return text.replace(f"s2g run {TEMPLATE}", f"s2g run {name}/").replace(TEMPLATE, name)
