"""The page of a group of sweeps: where it may be written, and writing it with its figures in a folder beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.figures.figure import Figure
from stream2gym.figures.svg import render_file
from stream2gym.sweep_group import GroupResult
from stream2gym.sweeps.results_page import ResultEntry, make_results_page, read_page


def check_page(page: Path) -> None:
    """BadInput if the page could not be written here, with its figures in a folder beside it that has its name."""
    hint = "name a file that you may write, such as docs/results.md"
    if not page.suffix:
        what = "has no suffix, and the folder of its figures has the name without it"
        raise BadInput(Mistake("--write", f"{page}: {what}", hint))
    figures = page.with_suffix("")
    # os.path takes what may not be looked at for missing; Path raises an error.
    above = next(folder for folder in page.absolute().parents if os.path.exists(folder))
    problem = ""
    if os.path.isdir(page):
        problem = "is a folder"
    elif not os.path.isdir(above):
        problem = f"{above} is no folder"
    elif os.path.exists(figures) and not os.path.isdir(figures):
        problem = f"{figures} is where its figures go, and is no folder"
    elif not all(os.access(path, os.W_OK) for path in (above, page, figures) if os.path.exists(path)):
        problem = "may not be written"
    elif os.path.exists(page):
        try:
            page.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            problem = "is there and is no text in UTF-8"
    if problem:
        raise BadInput(Mistake("--write", f"{page}: {problem}", hint))


def write_page(
    result: GroupResult,
    page: Path,
    command: str,
    *,
    overwrite: bool = False,
    make: Callable[..., str] = make_results_page,
    draw: Callable[[ResultEntry], Sequence[Figure]] = ResultEntry.figures,
) -> list[str]:
    """Write the page, with its figures in a folder beside it that has its name.

    ``make`` makes the text (see ``make_results_page``), ``draw`` the figures of an entry.
    A result that was not measured this time stays on the page as it was. So does a whole one of which there is only
    a coarse pass or a part now, unless ``overwrite``. Returns the names of these.
    """
    with _refused_if_unwritable(page, result.path):
        figures = page.with_suffix("")
        page.parent.mkdir(parents=True, exist_ok=True)
        figures.mkdir(exist_ok=True)
        written = []
        earlier = read_page(page.read_text("utf-8")) if page.is_file() else {}
        entries = [
            replace(entry, folder=_find_relative_folder(entry, page), earlier=earlier.get(entry.anchor))
            for entry in result.entries
        ]
        kept = [] if overwrite else [entry.name for entry in entries if entry.is_less_than_earlier]
        why = "only a coarse pass or a part of it was measured this time"
        entries = [replace(entry, result=None, missing=why) if entry.name in kept else entry for entry in entries]
        for entry in entries:
            for figure in draw(entry):
                target = figures / entry.figure_name(figure)
                target.write_text(render_file(figure), "utf-8")
                written.append(target)
        # Figures of results that are not drawn any more.
        names = {entry.name for entry in entries if entry.result is not None or entry.earlier is None}
        for old in figures.glob("*.svg"):
            if old not in written and any(old.name.startswith(f"{name}-") for name in names):
                old.unlink()
        now = datetime.now().astimezone()
        page.write_text(make(entries, command=command, figures=figures.name, written=now), "utf-8")
    return kept


@contextmanager
def _refused_if_unwritable(page: Path, folder: Path | None) -> Iterator[None]:
    """BadInput if the page cannot be written inside the block; the sweeps in ``folder`` are there all the same."""
    try:
        yield
    except OSError as error:
        hint = "" if folder is None else f"--from {folder} writes it from what was measured"
        raise BadInput(Mistake("--write", f"{page} cannot be written: {error.strerror}", hint)) from None


def _find_relative_folder(entry: ResultEntry, page: Path) -> str:
    return Path(os.path.relpath(entry.folder, page.parent)).as_posix()
