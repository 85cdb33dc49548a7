"""The run folder, which holds everything about one run.

    run.json          format version, state, seed, versions, machine, t0        experiment.yaml  as understood
    input/            the files as given        plan.json        events.jsonl   what happened
    raw/              journals, until sealed    data/*.parquet   the tables, once sealed
    logs/             HOST.COMPONENT.log        work/            what programs wrote
    verdict.json      report.html               figures/

The process that owns a running run holds a lock on ``.lock``. So a folder whose owner died, in whatever way, is told
from one that is still running. Nothing in the folder names a path outside of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import threading
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from stream2gym.errors import BadInput, Defect, Mistake
from stream2gym.record.events import EventLog, read_events
from stream2gym.record.journal import SUFFIX, Identity

FORMAT = 1
RUNS = "runs"
STATES = ("running", "done", "failed", "interrupted", "crashed")
_DOT = "%2E"
_FOLDERS = ("input", "raw", "data", "logs", "work", "figures")


class RunFolder:
    """A handle on one run folder, for its owner and for readers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw = path / "raw"
        self.data = path / "data"
        self.logs = path / "logs"
        self.work = path / "work"
        self.input = path / "input"
        self.figures = path / "figures"
        self._lock_fd = -1
        self._events: EventLog | None = None

    @classmethod
    def create(cls, name: str, *, seed: int, base: Path | None = None, out: Path | None = None, **info: Any) -> Self:
        """Make the folder and own it. ``info`` (versions, machine ...) is written into run.json."""
        now = datetime.now().astimezone()
        path = out or (base or Path(RUNS)) / f"{name}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(Mistake("--out", f"{path} exists and is not an empty folder", "name another one"))
        folder = cls(path)
        try:
            for sub in _FOLDERS:
                (path / sub).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"the folder {path} cannot be made: {error.strerror}"
            raise BadInput(Mistake("--out", what, "name a folder that you may write to")) from None
        folder.own()
        folder.write_json(
            "run.json",
            {
                "format": FORMAT, "name": name, "id": path.name, "state": "running", "phase": "created",
                "seed": seed, "created": now.isoformat(timespec="seconds"), "created_ns": time.monotonic_ns(),
                "t0_ns": None, "t0_wall": None, "sealed": False, **info,
            },
        )  # fmt: skip
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing run folder. Raises BadInput for a folder that is none, or is of another format."""
        folder = cls(path)
        info = folder.info
        if info.get("format") != FORMAT:
            raise BadInput(Mistake(str(path), f"is of format {info.get('format')}, this version reads {FORMAT}"))
        return folder

    # ---- what is known about the run

    @property
    def info(self) -> dict[str, Any]:
        try:
            info = json.loads((self.path / "run.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise BadInput(Mistake(str(self.path), "is not a run folder", "it has no readable run.json")) from error
        if not isinstance(info, dict):
            raise BadInput(Mistake(str(self.path), "is not a run folder", "its run.json is no object"))
        return info

    @property
    def state(self) -> str:
        """The state of the run. A run that never ended and that nobody owns any more is ``crashed``."""
        state = str(self.info["state"])
        return "crashed" if state == "running" and not self.is_running() else state

    @property
    def t0_ns(self) -> int:
        """The moment from which times count: the start of load, or of the run if load never began."""
        info = self.info
        return int(info["created_ns"] if info["t0_ns"] is None else info["t0_ns"])

    def update(self, **changes: Any) -> None:
        """Change fields of run.json in one step."""
        self.write_json("run.json", self.info | changes)

    def set_phase(self, phase: str) -> None:
        self.update(phase=phase)

    def set_state(self, state: str, **changes: Any) -> None:
        if state not in STATES:
            raise Defect(f"no such state of a run: {state}")
        self.update(state=state, **changes)

    def set_t0(self, t0_ns: int) -> None:
        """Record the start of load, on the monotonic clock and on the wall clock."""
        wall = time.time() + (t0_ns - time.monotonic_ns()) / 1e9
        self.update(t0_ns=t0_ns, t0_wall=datetime.fromtimestamp(wall).astimezone().isoformat())

    # ---- files of the folder

    @property
    def events(self) -> EventLog:
        if self._events is None:
            self._events = EventLog(self.path / "events.jsonl")
        return self._events

    def read_events(self) -> list[dict[str, Any]]:
        return list(read_events(self.path / "events.jsonl", self.t0_ns))

    def log_path(self, host: str, component: str) -> Path:
        """The path of the log of a component on a host. The first dot of the file name ends the name of the host."""
        return self.logs / f"{host.replace('.', _DOT)}.{component}.log"

    def journals_of(self, schema: str, name: str, instance: int = 1) -> dict[int, Path]:
        """The journals of a client by the number of its start, from 1."""
        pattern = re.compile(rf"{re.escape(f'{schema}.{name}.{instance}.')}(\d+){re.escape(SUFFIX)}")
        found = {int(match[1]): file for file in self.raw.iterdir() if (match := pattern.fullmatch(file.name))}
        return dict(sorted(found.items()))

    def new_journal(self, schema: str, name: str, instance: int = 1) -> tuple[Path, Identity]:
        """The path and the identity for the next start of a client. Each start has a journal of its own."""
        identity = Identity(name, instance, max(self.journals_of(schema, name, instance), default=0) + 1)
        return self.raw / identity.file_name(schema), identity

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, json.dumps(value, indent=1, default=str) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a file of the folder so that readers see the old one or the new one, never a part."""
        target = self.path / name
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_native_id()}.new")
        try:
            with unfinished.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, target)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()
            raise

    def write_offsets(self, rows: list[tuple[str, int, int, int]]) -> None:
        """Record Kafka's own offsets at the end of the run: (topic, partition, start, end)."""
        self.write_json("raw/offsets.json", rows)

    # ---- ownership

    def is_running(self) -> bool:
        """Whether some process owns the folder."""
        if self._lock_fd >= 0:
            return True
        try:
            fd = os.open(self.path / ".lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(fd)

    def release(self) -> None:
        """Own the folder no longer."""
        if self._events is not None:
            self._events.close()
            self._events = None
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def own(self) -> None:
        """Own the folder until ``release``. Only one process may own it at a time."""
        self._lock_fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def split_log_name(log: Path) -> tuple[str, str]:
    """The host and the component, or the process of a component, that a log belongs to."""
    host, _, component = log.name.removesuffix(".log").partition(".")
    return host.replace(_DOT, "."), component


def list_runs(base: Path | None = None) -> list[RunFolder]:
    """The run folders in ``base``, newest first."""
    base = base or Path(RUNS)
    found = []
    for path in base.iterdir() if base.is_dir() else ():
        with suppress(BadInput):
            found.append(RunFolder.open(path))
    return sorted(found, key=lambda folder: (str(folder.info["created"]), folder.path.name), reverse=True)


def find_run(reference: str, base: Path | None = None) -> RunFolder:
    """Find a run by its folder, its id, the name of its experiment, or ``latest``. A running one comes first."""
    if (Path(reference) / "run.json").exists():
        return RunFolder.open(Path(reference))
    runs = list_runs(base)
    chosen = [
        run
        for run in runs
        if reference in ("latest", run.path.name, run.info["name"]) or run.path.name.startswith(f"{reference}-")
    ]
    if not chosen:
        if not runs:
            what = f"there are no runs in {base or Path(RUNS)}/ yet"
            raise BadInput(Mistake(reference, what, "begin with: s2g run hello"))
        known = ", ".join(run.path.name for run in runs[:5]) + (", ..." if len(runs) > 5 else "")
        raise BadInput(Mistake(reference, "there is no such run", f"known: {known}; a folder or latest will do, too"))
    return next((run for run in chosen if run.is_running()), chosen[0])
