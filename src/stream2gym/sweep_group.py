"""Several sweeps by one command, such as all published results, and the page that shows them.

A group is a folder of folders with a sweep file each; ``published`` is the bundled one. Its sweeps run one after the
other, each into a folder of its own below that of the group. The page can be written from finished sweeps alone.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Interrupted, Mistake, S2gError
from stream2gym.execution.view import View
from stream2gym.interrupts import Interrupts
from stream2gym.spec.readers.bundled_examples import FOLDERS
from stream2gym.spec.readers.user_files import is_folder
from stream2gym.sweep_api import SWEEP_FILE, collect_inputs, load_settings, plan_sweep, sweep
from stream2gym.sweeps.check_points import check_points
from stream2gym.sweeps.load_sweep import LoadedSweep, load_sweep
from stream2gym.sweeps.point import Keep, PointResult
from stream2gym.sweeps.results_page import ResultEntry, read_readme
from stream2gym.sweeps.run_figures import draw_run_figures
from stream2gym.sweeps.run_points import SilentSweepView, SweepProgress, SweepView
from stream2gym.sweeps.sweep_folder import (
    FILE,
    NEW_SWEEP,
    SWEEPS,
    InputFile,
    SweepFolder,
    refused_if_unwritable,
)
from stream2gym.sweeps.sweep_plan import PlannedPointRun, SweepPlan
from stream2gym.sweeps.sweep_results import SweepResult, load_results, load_with_file

GROUP_FILE = "group.json"
PAGE = "results.md"
README = "README.md"
# About how long a run takes beside its load.
_START_S = 12.0
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


@dataclass(frozen=True)
class CheckedSweep:
    """A sweep of a group before it runs: its file, its runs, and the files that its results depend on."""

    loaded: LoadedSweep
    plan: SweepPlan
    inputs: list[InputFile]
    # How long the load of one of its runs lasts.
    load_s: float


def check_group(
    group: SweepGroup, settings: Mapping[str, Any], *, quick: bool, yes: bool = False
) -> dict[str, CheckedSweep]:
    """Read and check every sweep of a group. BadInput lists the mistakes of all."""
    found: dict[str, CheckedSweep] = {}
    mistakes: list[Mistake] = []
    for name, file in group.files.items():
        try:
            loaded = load_settings(file, None, settings)
            plan = plan_sweep(loaded.file, quick=quick, yes=yes)
            # What this machine lacks for one of them is told when it is its turn.
            checked = check_points(loaded, plan, is_run_here=False)
        except BadInput as error:
            mistakes += error.mistakes
            continue
        inputs = collect_inputs(loaded, checked, settings)
        found[name] = CheckedSweep(loaded, plan, inputs, checked.first.plan.load_s)
    if mistakes:
        raise BadInput(mistakes)
    return found


def run_group(
    group: SweepGroup,
    *,
    quick: bool = False,
    keep: Keep = "summaries",
    retry: bool = False,
    resume: str | None = None,
    out: Path | None = None,
    yes: bool = False,
    view: SweepView | None = None,
    interrupts: Interrupts | None = None,
    **settings: Any,
) -> GroupResult:
    """Run the sweeps of a group one after the other. One that cannot run never stops the rest.

    ``settings`` replace keys of every sweep file, such as ``repeats``.
    """
    if resume is not None and out is not None:
        raise BadInput(Mistake("--out", "sweeps that are resumed stay in their folder", "leave it out"))
    checked = check_group(group, settings, quick=quick, yes=yes)
    began_as = _describe_pass(group, quick, settings)
    folder = (
        _make_group_folder(group, began_as, out) if resume is None else _find_group_folder(group, began_as, resume)
    )
    _check_unchanged(folder, checked, retry=retry)
    shown = GroupView(view or SilentSweepView(), checked, folder)
    entries: list[ResultEntry] = []
    errors: dict[str, int] = {}
    is_stopped = False
    for name, file in group.files.items():
        place = folder / name
        if is_stopped:
            entries.append(describe_missing(name, file, "the command was interrupted before it"))
            continue
        shown.begin(name)
        try:
            result = _run_one(
                file, place, checked[name].loaded, quick=quick, keep=keep, retry=retry, yes=yes, view=shown,
                interrupts=interrupts, **settings,
            )  # fmt: skip
        except S2gError as error:
            shown.note(f"{name}: {error}")
            errors[name] = error.exit_code
            entries.append(describe_missing(name, file, str(error).partition("\n")[0]))
            continue
        is_stopped = result.state == "interrupted"
        entries.append(_describe_result(name, file, result))
    return GroupResult(group.name, tuple(entries), folder, errors)


class GroupView:
    """The view of a sweep, with the time that is left of all sweeps of its group.

    The runs of the sweeps to come take as long as their load and their start do, times what the runs so far took
    beyond that.
    """

    def __init__(self, view: SweepView, checked: Mapping[str, CheckedSweep], folder: Path) -> None:
        self._view = view
        self._run_s = {name: one.load_s + _START_S for name, one in checked.items()}
        self._waiting = {name: _count_waiting(folder / name, one.plan) for name, one in checked.items()}
        self._name = ""
        self._took_s = 0.0
        self._planned_s = 0.0

    def begin(self, name: str) -> None:
        """A sweep of the group begins."""
        self._name = name
        del self._waiting[name]
        self.note(f"{name}:")

    def started(self, run: PlannedPointRun, progress: SweepProgress) -> View:
        return self._view.started(run, progress)

    def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None:
        self._took_s += result.took_s
        self._planned_s += self._run_s[self._name]
        later_s = sum(count * self._run_s[name] for name, count in self._waiting.items())
        if later_s:
            all_left_s = (progress.left_s or 0.0) + later_s * self._took_s / self._planned_s
            progress = replace(progress, all_left_s=all_left_s)
        self._view.ended(run, result, progress)

    def note(self, text: str) -> None:
        self._view.note(text)


def _count_waiting(place: Path, plan: SweepPlan) -> int:
    """The runs of a sweep that have not ended."""
    if not (place / FILE).is_file():
        return len(plan.runs)
    return len(plan.runs) - len(SweepFolder.open(place).find_ended())


def _check_unchanged(folder: Path, checked: Mapping[str, CheckedSweep], *, retry: bool) -> None:
    """BadInput if a sweep that goes on, or that is shown as it is, has another input now.

    Of a finished sweep the sweep file may have other shapes and agreement: it is judged by these.
    """
    mistakes: list[Mistake] = []
    for name, one in checked.items():
        if not (folder / name / FILE).is_file():
            continue
        known = SweepFolder.open(folder / name)
        is_read_only = not retry and not _count_waiting(known.path, one.plan)
        judging = {SWEEP_FILE, one.loaded.file.published} if is_read_only else set()
        try:
            known.check_unchanged(one.inputs, without=judging)
        except BadInput as error:
            mistakes += [replace(mistake, where=f"{name}: {mistake.where}") for mistake in error.mistakes]
            continue
        if load_with_file(known, one.loaded.file, one.loaded.published) is None:
            mistakes.append(Mistake(name, "its sweep file measures something else now", NEW_SWEEP))
    if mistakes:
        raise BadInput(mistakes)


def _run_one(file: Path, place: Path, loaded: LoadedSweep, *, retry: bool, **options: Any) -> SweepResult:
    """Run one sweep, or what is left of it; a finished one is only read, unless some of it is to run once more."""
    if not (place / FILE).is_file():
        return sweep(file, out=place, retry=retry, **options)
    known = SweepFolder.open(place)
    if not retry and not _count_waiting(place, known.read_plan()):
        return load_with_file(known, loaded.file, loaded.published) or load_results(known)
    return sweep(file, resume=place, retry=retry, **options)


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
    if (folder / FILE).is_file():
        yield SweepFolder.open(folder)
    for pattern in (f"*/{FILE}", f"*/*/{FILE}"):
        for file in sorted(folder.glob(pattern)):
            with suppress(BadInput):
                yield SweepFolder.open(file.parent)


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
        of_runs=draw_run_figures(
            result.folder.points, result.file, result.folder.read_plan(), result.folder.find_ended()
        ),
        took_s=sum(attempt.result.took_s for attempt in result.folder.read_attempts()),
    )


def _find_changed_inputs(folder: Path, info: dict[str, Any]) -> list[str]:
    """The files of the experiment that are not any more what they were, those that only judge left out."""
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
    told = {"group": group.name, "created": now.isoformat(timespec="seconds"), "began_as": began_as}
    with refused_if_unwritable(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            hint = "name another one, or --resume"
            raise BadInput(Mistake("--out", f"{folder} exists and is not an empty folder", hint))
        folder.mkdir(parents=True, exist_ok=True)
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
