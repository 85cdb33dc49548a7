"""Several sweeps by one command, such as all published results, and the page that shows them.

A group is a folder of folders with a sweep file each; ``published`` is the bundled one. Its sweeps run one after the
other, each into a folder of its own below that of the group. The page can be written from finished sweeps alone.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Interrupted, Mistake, S2gError
from stream2gym.figures.figure import Chart
from stream2gym.figures.svg import render_file
from stream2gym.interrupts import Interrupts
from stream2gym.spec.readers.bundled_examples import FOLDERS
from stream2gym.spec.readers.user_files import is_folder
from stream2gym.sweep_api import SWEEP_FILE, load_settings, sweep
from stream2gym.sweeps.check_points import check_points
from stream2gym.sweeps.load_sweep import LoadedSweep, load_sweep
from stream2gym.sweeps.point import Keep
from stream2gym.sweeps.results_page import ResultEntry, make_results_page, read_page, read_readme
from stream2gym.sweeps.run_points import SilentSweepView, SweepView
from stream2gym.sweeps.sweep_folder import FILE, SWEEPS, SweepFolder
from stream2gym.sweeps.sweep_plan import make_sweep_plan
from stream2gym.sweeps.sweep_results import SweepResult, load_results, load_with_file

GROUP_FILE = "group.json"
PAGE = "results.md"
README = "README.md"
WORST_FIRST = (Interrupted.exit_code, 1, 4, 3, 2, 0)


@dataclass(frozen=True)
class SweepGroup:
    """The sweep files of a group, by their names."""

    name: str
    files: dict[str, Path]


@dataclass(frozen=True)
class GroupResult:
    """What came of a group: the entries of its page, in order, and the folder of its sweeps."""

    name: str
    entries: tuple[ResultEntry, ...]
    path: Path | None = None
    # Exit codes of sweeps that could not run, by their names.
    errors: dict[str, int] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The worst of its sweeps. One that did not run is unknown at best."""
        codes = {
            self.errors.get(entry.name, 3) if entry.result is None else entry.result.exit_code
            for entry in self.entries
        }
        return next((code for code in WORST_FIRST if code in codes), 3)

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.name,
            "path": None if self.path is None else str(self.path),
            "exit_code": self.exit_code,
            "sweeps": {
                entry.name: {"missing": entry.missing} if entry.result is None else entry.result.to_json()
                for entry in self.entries
            },
        }


def find_group(word: str) -> SweepGroup | None:
    """The group that a word on the command line means: a bundled one, or a folder. None: it means no group."""
    is_path = "/" in word or bool(Path(word).suffix)
    for folder in [Path(word)] if is_path else [examples / word for examples in FOLDERS]:
        if is_folder(folder) and not (folder / SWEEP_FILE).is_file():
            files = {file.parent.name: file for file in sorted(folder.glob(f"*/{SWEEP_FILE}"))}
            if files:
                return SweepGroup(folder.name, files)
    return None


def check_group(group: SweepGroup, settings: Mapping[str, Any], *, quick: bool) -> dict[str, LoadedSweep]:
    """Read and check every sweep of a group. BadInput lists the mistakes of all."""
    loaded: dict[str, LoadedSweep] = {}
    mistakes: list[Mistake] = []
    for name, file in group.files.items():
        try:
            loaded[name] = load_settings(file, None, settings)
            check_points(loaded[name], make_sweep_plan(loaded[name].file, is_quick=quick))
        except BadInput as error:
            mistakes += error.mistakes
    if mistakes:
        raise BadInput(mistakes)
    return loaded


def run_group(
    group: SweepGroup,
    *,
    quick: bool = False,
    keep: Keep = "summaries",
    retry: bool = False,
    resume: str | None = None,
    out: Path | None = None,
    view: SweepView | None = None,
    interrupts: Interrupts | None = None,
    **settings: Any,
) -> GroupResult:
    """Run the sweeps of a group one after the other. One that cannot run never stops the rest.

    ``settings`` replace keys of every sweep file, such as ``repeats``.
    """
    if resume is not None and out is not None:
        raise BadInput(Mistake("--out", "sweeps that are resumed stay in their folder", "leave it out"))
    loaded = check_group(group, settings, quick=quick)
    began_as = _describe_pass(group, quick, settings)
    folder = (
        _make_group_folder(group, began_as, out) if resume is None else _find_group_folder(group, began_as, resume)
    )
    shown = view or SilentSweepView()
    entries: list[ResultEntry] = []
    errors: dict[str, int] = {}
    is_stopped = False
    for name, file in group.files.items():
        place = folder / name
        if is_stopped:
            entries.append(describe_missing(name, file, "the command was interrupted before it"))
            continue
        shown.note(f"{name}:")
        try:
            result = _run_one(
                file, place, loaded[name], quick=quick, keep=keep, retry=retry, view=shown, interrupts=interrupts,
                **settings,
            )  # fmt: skip
        except S2gError as error:
            shown.note(f"{name}: {error}")
            errors[name] = error.exit_code
            entries.append(describe_missing(name, file, str(error).partition("\n")[0]))
            continue
        is_stopped = result.state == "interrupted"
        entries.append(_describe_result(name, file, result))
    return GroupResult(group.name, tuple(entries), folder, errors)


def _run_one(file: Path, place: Path, loaded: LoadedSweep, **options: Any) -> SweepResult:
    """Run one sweep, or what is left of it; a finished one is only read."""
    if not (place / FILE).is_file():
        return sweep(file, out=place, **options)
    known = SweepFolder.open(place)
    ended = known.find_ended()
    if all(run.name in ended for run in known.read_plan().runs):
        return load_with_file(known, loaded.file, loaded.published) or load_results(known)
    return sweep(file, resume=place, **options)


def load_group(group: SweepGroup, folders: Sequence[Path]) -> GroupResult:
    """The newest sweep of every name in these folders (of a sweep, of a group, or above them). Nothing is run.

    One of all points goes before a coarse pass, and a finished one before one that is not.
    """
    for folder in folders:
        if not is_folder(folder):
            raise BadInput(Mistake("--from", f"{folder} is no folder", "a folder of sweeps"))
    found = [sweep_folder for folder in folders for sweep_folder in _find_sweep_folders(folder)]
    entries = []
    for name, file in group.files.items():
        loaded = load_sweep(file)
        own = [one for one in found if one.info["name"] == loaded.file.name]
        if not own:
            entries.append(describe_missing(name, file, "there is no such sweep in the given folders"))
            continue
        best = max(
            own, key=lambda one: (one.info["state"] == "done", not one.info["quick"], str(one.info["created"]))
        )
        present = load_with_file(best, loaded.file, loaded.published)
        entries.append(_describe_result(name, file, present or load_results(best), is_present=present is not None))
    return GroupResult(group.name, tuple(entries))


def _find_sweep_folders(folder: Path) -> Iterator[SweepFolder]:
    """The folders of sweeps here, and one and two levels below."""
    for pattern in (FILE, f"*/{FILE}", f"*/*/{FILE}"):
        for file in sorted(folder.glob(pattern)):
            with suppress(BadInput):
                yield SweepFolder.open(file.parent)


def write_page(
    result: GroupResult,
    page: Path,
    command: str,
    *,
    make: Callable[..., str] = make_results_page,
    draw: Callable[[ResultEntry], list[Chart]] = ResultEntry.charts,
) -> list[Path]:
    """Write the page, with its figures in a folder beside it that has its name. Returns what was written.

    ``make`` makes the text (see ``make_results_page``), ``draw`` the charts of an entry.
    A result that was not measured this time stays on the page as it was.
    """
    figures = page.with_suffix("")
    page.parent.mkdir(parents=True, exist_ok=True)
    figures.mkdir(exist_ok=True)
    written = []
    earlier = read_page(page.read_text("utf-8")) if page.is_file() else {}
    entries = [
        replace(entry, folder=_find_relative_folder(entry, page), earlier=earlier.get(entry.anchor))
        for entry in result.entries
    ]
    for entry in entries:
        for chart in draw(entry):
            target = figures / entry.figure_name(chart)
            target.write_text(render_file(chart), "utf-8")
            written.append(target)
    # Figures of results that are not drawn any more.
    names = {entry.name for entry in entries if entry.result is not None or entry.earlier is None}
    for old in figures.glob("*.svg"):
        if old not in written and any(old.name.startswith(f"{name}-") for name in names):
            old.unlink()
    now = datetime.now().astimezone()
    page.write_text(make(entries, command=command, figures=figures.name, written=now), "utf-8")
    return [page, *written]


def _find_relative_folder(entry: ResultEntry, page: Path) -> str:
    return Path(os.path.relpath(entry.folder, page.parent)).as_posix()


def describe_missing(name: str, file: Path, why: str) -> ResultEntry:
    """The entry of a sweep that was not run."""
    return ResultEntry(
        name,
        _read_readme(name, file),
        missing=why.rstrip("."),
        folder=str(file.parent.resolve()),
        file=load_sweep(file).file,
    )


def _describe_result(name: str, file: Path, result: SweepResult, *, is_present: bool = True) -> ResultEntry:
    info = result.folder.info
    remarks = [] if is_present else ["the sweep file measures something else by now; this is what it measured then"]
    present = load_sweep(file).file
    if result.repeats != present.repeats and not info["quick"]:
        remarks.append(f"repeats of every point: {result.repeats}, where the sweep file has {present.repeats}")
    changed = _find_changed_inputs(file.parent, info)
    if changed:
        remarks.append(f"{', '.join(changed)} changed since")
    return ResultEntry(
        name,
        _read_readme(name, file),
        result,
        info,
        _read_versions(result.folder),
        remarks=tuple(remarks),
        folder=str(file.parent.resolve()),
        file=present,
        took_s=sum(attempt.result.took_s for attempt in result.folder.read_attempts()),
    )


def _find_changed_inputs(folder: Path, info: dict[str, Any]) -> list[str]:
    """The files of the experiment that are not any more what they were, those that only judge left out."""
    from stream2gym.sweeps.sweep_folder import InputFile

    ignored = {SWEEP_FILE, info["file"].get("published")}
    changed = []
    for entry in info["inputs"]:
        path = folder / entry["name"].removeprefix("experiment ")
        if entry["name"] not in ignored and path.is_file() and InputFile.read("", path).digest != entry["sha256"]:
            changed.append(entry["name"])
    return changed


def _read_readme(name: str, file: Path) -> Any:
    path = file.parent / README
    return read_readme(path.read_text("utf-8") if path.is_file() else f"# {name}\n")


def _read_versions(folder: SweepFolder) -> dict[str, str]:
    """The versions of the sweep, and of the software of its runs: of each the first that a run has."""
    versions: dict[str, str] = {}
    for run in sorted(folder.points.glob("*/run.json")):
        with suppress(OSError, ValueError, AttributeError):
            found = json.loads(run.read_text("utf-8")).get("versions") or {}
            told = {name: version for name, version in found.items() if isinstance(version, str) and version}
            versions = {**told, **versions}
    return {name: str(version) for name, version in folder.info["versions"].items()} | versions


def _describe_pass(group: SweepGroup, quick: bool, settings: Mapping[str, Any]) -> str:
    """What runs: ``published --quick``. A group that is resumed must be run as it began."""
    options = [f"--{name} {value}" for name, value in sorted(settings.items())]
    return " ".join([group.name, *(["--quick"] if quick else []), *options])


def _make_group_folder(group: SweepGroup, began_as: str, out: Path | None) -> Path:
    now = datetime.now().astimezone()
    folder = out or Path(SWEEPS) / f"{group.name}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            Mistake("--out", f"{folder} exists and is not an empty folder", "name another one, or --resume")
        )
    folder.mkdir(parents=True, exist_ok=True)
    told = {"group": group.name, "created": now.isoformat(timespec="seconds"), "began_as": began_as}
    (folder / GROUP_FILE).write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return folder


def _find_group_folder(group: SweepGroup, began_as: str, reference: str) -> Path:
    """The folder of a group that goes on: this one, or the newest of the group for ``latest``."""
    if reference == "latest":
        candidates = sorted(Path(SWEEPS).glob(f"{group.name}-*/{GROUP_FILE}"))
        if not candidates:
            raise BadInput(Mistake("--resume", f"there is no such group in {SWEEPS}/", "leave it out to begin"))
        folder = candidates[-1].parent
    else:
        folder = Path(reference)
    try:
        info = json.loads((folder / GROUP_FILE).read_text("utf-8"))
        known = str(info["began_as"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(Mistake("--resume", f"{folder} is not the folder of a group of sweeps", "")) from None
    if known != began_as:
        raise BadInput(Mistake("--resume", f"{folder} began as {known}, not as {began_as}", "resume it as it began"))
    return folder
