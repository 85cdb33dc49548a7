"""The folder of a sweep, which holds all that is needed to resume it, and all that came of it.

    sweep.json       name, state, seed, versions, machine      plan.json      every run, in order
    input/           the files as given                        results.jsonl  one line for each run that ended
    points/NAME/     an ordinary run folder for each run
    responses.parquet, responses.csv, verdict.json, report.html, figures/

The process that owns the sweep holds a lock on ``.lock``. Nothing in the folder names a path outside of it.
"""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
import math
import os
import platform
import secrets
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from stream2gym.errors import BadInput, Mistake
from stream2gym.jsonable import Jsonable
from stream2gym.record.folder import RunFolder
from stream2gym.sweeps.point import Keep, PointResult
from stream2gym.sweeps.sweep_plan import PlannedPointRun, SweepPlan
from stream2gym.version import __version__

FORMAT = 1
SWEEPS = "sweeps"
FILE = "sweep.json"
RETRY = "-retry"
_MOST_KEPT = 1024 * 1024  # bytes of an input file; of a longer one only the hash is kept
_MOST_DIFF_LINES = 40
# What sweep.json has at least.
_KEYS = {
    "name": str, "id": str, "state": str, "seed": int, "quick": bool, "created": str, "inputs": list,
    "versions": dict, "machine": dict,
}  # fmt: skip
# What ``--keep summaries`` removes from a run folder. The report can be written again from what is left.
_BULKY = ("data", "raw", "logs", "work", "figures", "captures")


@dataclass(frozen=True)
class Attempt(Jsonable):
    """One run that ended: its planned run by name, its folder below ``points``, and what came of it."""

    run: str
    folder: str
    result: PointResult


@dataclass(frozen=True)
class InputFile:
    """A file that the results depend on, as it is now. The content of a long one is None."""

    name: str
    digest: str
    content: bytes | None

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> InputFile:
        return cls(name, hashlib.sha256(content).hexdigest(), content)

    @classmethod
    def read(cls, name: str, path: Path) -> InputFile:
        """Read a file, whatever its size."""
        if path.stat().st_size <= _MOST_KEPT:
            return cls.of_bytes(name, path.read_bytes())
        with path.open("rb") as file:
            return cls(name, hashlib.file_digest(file, "sha256").hexdigest(), None)


class SweepFolder:
    """A handle on the folder of one sweep, for its owner and for readers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.points = path / "points"
        self.figures = path / "figures"
        self._lock_fd = -1

    @classmethod
    def create(
        cls, name: str, plan: SweepPlan, inputs: Sequence[InputFile], out: Path | None = None, **info: Any
    ) -> Self:
        """Make the folder and own it. ``info`` is written into sweep.json."""
        now = datetime.now().astimezone()
        path = out or Path(SWEEPS) / f"{name}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        with refused_if_unwritable(path):
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                hint = "--resume continues a sweep" if (path / FILE).is_file() else "name another one"
                raise BadInput(Mistake("--out", f"{path} exists and is not an empty folder", hint))
            folder = cls(path)
            for sub in (folder.points, path / "input"):
                sub.mkdir(parents=True, exist_ok=True)
            folder.own()
            for number, file in enumerate(inputs):
                if file.content is not None:
                    (path / "input" / _stored_name(number, file.name)).write_bytes(file.content)
            folder.write_json("plan.json", plan.to_json())
            folder.write_json(
                FILE,
                {
                    "format": FORMAT, "name": name, "id": path.name, "state": "running", "seed": plan.seed,
                    "quick": plan.is_quick, "created": now.isoformat(timespec="seconds"), "ended": None,
                    "versions": {"stream2gym": __version__, "python": platform.python_version(),
                                 "kernel": platform.release()},
                    "machine": {"architecture": platform.machine(), "cpus": os.cpu_count(),
                                "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")},
                    "inputs": [{"name": file.name, "sha256": file.digest} for file in inputs], **info,
                },
            )  # fmt: skip
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the folder of a sweep for reading. BadInput for a folder that is none."""
        folder = cls(path)
        info = folder.info
        if info.get("format") != FORMAT:
            raise BadInput(Mistake(str(path), f"is of format {info.get('format')}, this version reads {FORMAT}"))
        wrong = [key for key, kind in _KEYS.items() if not isinstance(info.get(key), kind)]
        if wrong:
            raise BadInput(Mistake(str(path), f"its {FILE} cannot be read", f"it lacks {', '.join(wrong)}"))
        return folder

    @property
    def info(self) -> dict[str, Any]:
        try:
            info = json.loads((self.path / FILE).read_text("utf-8"))
        except (OSError, ValueError) as error:
            what = f"it has no readable {FILE}"
            raise BadInput(Mistake(str(self.path), "is not the folder of a sweep", what)) from error
        if not isinstance(info, dict):
            raise BadInput(Mistake(str(self.path), "is not the folder of a sweep", f"its {FILE} is no object"))
        return info

    def update(self, **changes: Any) -> None:
        self.write_json(FILE, self.info | changes)

    def read_plan(self) -> SweepPlan:
        try:
            return SweepPlan.from_json(json.loads((self.path / "plan.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise BadInput(Mistake(str(self.path), "its plan.json cannot be read", str(error))) from error

    # ---- results

    def add_attempt(self, attempt: Attempt) -> None:
        """Append what came of a run, and see it onto the disk."""
        line = json.dumps(attempt.to_json(), default=str) + "\n"
        with (self.path / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def read_attempts(self) -> list[Attempt]:
        """Every run that ended, in order. A line that a crash or a full disk cut off counts as none."""
        path = self.path / "results.jsonl"
        found = []
        for line in path.read_text("utf-8", "replace").splitlines() if path.is_file() else ():
            with suppress(ValueError, TypeError, KeyError):
                found.append(Attempt.from_json(json.loads(line)))
        return found

    def find_ended(self) -> dict[str, Attempt]:
        """The attempt that counts of every run that need not run again, by the name of the run.

        A run that was interrupted, and one whose folder is gone, runs again. An attempt in the state ``interrupted``
        withdraws the result before it: from then on the folder is that of another try.
        """
        ended: dict[str, Attempt] = {}
        for attempt in self.read_attempts():
            is_there = attempt.result.state == "failed" or (self.points / attempt.folder / "run.json").is_file()
            if attempt.result.state != "interrupted" and is_there:
                ended[attempt.run] = pick_attempt(ended.get(attempt.run), attempt)
            else:
                ended.pop(attempt.run, None)
        return ended

    def end_partial_line(self) -> None:
        """Close the line that a crash cut off, so that the next result begins a line of its own."""
        path = self.path / "results.jsonl"
        if path.is_file() and path.stat().st_size:
            with path.open("rb+") as file:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")

    def find_point(self, run: PlannedPointRun, *, is_retry: bool = False) -> Path:
        """Where the run folder of a run is, or will be."""
        return self.points / f"{run.name}{RETRY if is_retry else ''}"

    def prepare_point(self, run: PlannedPointRun, *, is_retry: bool = False) -> Path:
        """The folder for a run. What an interrupted run left there is removed, unless somebody still runs it."""
        path = self.find_point(run, is_retry=is_retry)
        if path.exists():
            if RunFolder(path).is_running():
                raise BadInput(Mistake(str(path), "this run is still going on", "wait for it, or end its process"))
            shutil.rmtree(path)
        return path

    def write_json(self, name: str, value: Any) -> None:
        self.write_bytes(name, (json.dumps(value, indent=1, default=str) + "\n").encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file of the folder so that readers see the old one or the new one, never a part."""
        target = self.path / name
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with unfinished.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, target)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()
            raise

    # ---- ownership

    def own(self) -> None:
        """Own the folder until ``release``. BadInput if another process owns it, or if it cannot be written to."""
        try:
            fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise BadInput(Mistake(str(self.path), f"cannot be written to: {error.strerror}")) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise BadInput(Mistake(str(self.path), "another process runs this sweep", "wait for its end")) from None
        self._lock_fd = fd

    def release(self) -> None:
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    # ---- resuming

    def check_unchanged(self, inputs: Sequence[InputFile], without: Collection[str] = ()) -> None:
        """BadInput with the difference if a file differs from what the sweep began with. Those in ``without`` may."""
        before = {entry["name"]: (number, entry["sha256"]) for number, entry in enumerate(self.info["inputs"])}
        now = {file.name: file for file in inputs}
        mistakes = []
        for name in (*before, *(name for name in now if name not in before)):
            if name in without:
                continue
            if name not in now:
                mistakes.append(Mistake(name, "belonged to this sweep and does not any more", NEW_SWEEP))
            elif name not in before:
                mistakes.append(Mistake(name, "did not belong to this sweep when it began", NEW_SWEEP))
            elif now[name].digest != before[name][1]:
                what = f"has changed since this sweep began{self._show_difference(before[name][0], now[name])}"
                mistakes.append(Mistake(name, what, NEW_SWEEP))
        if mistakes:
            raise BadInput(mistakes)

    def _show_difference(self, number: int, file: InputFile) -> str:
        try:
            before = (self.path / "input" / _stored_name(number, file.name)).read_text("utf-8").splitlines()
            now = (file.content or b"").decode("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return ""
        lines = list(difflib.unified_diff(before, now, "as the sweep began", "now", lineterm="", n=1))
        more = [f"... and {len(lines) - _MOST_DIFF_LINES} more lines"] if len(lines) > _MOST_DIFF_LINES else []
        return "\n" + "\n".join(f"  {line}" for line in [*lines[:_MOST_DIFF_LINES], *more]) + "\n "


@contextmanager
def refused_if_unwritable(path: Path) -> Iterator[None]:
    """BadInput if the folder cannot be made and filled inside the block."""
    try:
        yield
    except OSError as error:
        what = f"the folder {path} cannot be made: {error.strerror}"
        raise BadInput(Mistake("--out", what, "name a folder that you may write to")) from None


NEW_SWEEP = "restore it, or begin a new sweep without --resume"


def _stored_name(number: int, name: str) -> str:
    return f"{number:02d}-{Path(name).name}"


def thin_run_folder(path: Path, keep: Keep, result: PointResult) -> None:
    """Remove what is bulky from a run folder, if only summaries are kept. Logs tell why a run did not go through."""
    if keep == "summaries":
        for part in _BULKY:
            if part != "logs" or result.state == "done":
                shutil.rmtree(path / part, ignore_errors=True)


def pick_attempt(before: Attempt | None, after: Attempt) -> Attempt:
    """The attempt of a run that counts: the last one, unless it is a retry that measured less than the first one."""
    if before is None or before.folder == after.folder or _count_bounded(after) >= _count_bounded(before):
        return after
    return before


def _count_bounded(attempt: Attempt) -> int:
    """The number of values of which both bounds are known."""
    bounds = [(one.low, one.high) for one in attempt.result.measured if one.value is not None]
    return sum(all(bound is not None and math.isfinite(bound) for bound in pair) for pair in bounds)


def find_sweep(reference: str, base: Path | None = None) -> SweepFolder:
    """Find a sweep by its folder, its id, its name, or ``latest``."""
    if (Path(reference) / FILE).is_file():
        return SweepFolder.open(Path(reference))
    folder = base or Path(SWEEPS)
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        with suppress(BadInput):
            found.append(SweepFolder.open(path))
    found.sort(key=lambda one: (str(one.info["created"]), one.path.name), reverse=True)
    for one in found:
        if reference in ("latest", one.path.name, one.info["name"]):
            return one
    known = ", ".join(one.path.name for one in found[:5]) or "there are no sweeps yet"
    raise BadInput(Mistake(reference, "no such sweep", f"a folder, a name, or latest; known: {known}"))
