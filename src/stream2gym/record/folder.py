"""The run folder: where everything about one run lies, and who may say what about it.

    run.json          format version, state, seed, versions, machine, t0        experiment.yaml  as understood
    input/            the files as given        plan.json        events.jsonl   what happened
    raw/              journals, until sealed    data/*.parquet   the tables, once sealed
    logs/             HOST.COMPONENT.log        work/            what programs wrote
    verdict.json      report.html               figures/

The process that owns a running run holds a lock on ``.lock``, so that a folder whose owner died, however it
died, is known from one that is still running. Nothing in the folder names a place outside of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
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
    def create(
        cls, name: str, *, seed: int, base: Path | None = None, out: Path | None = None, **info: Any
    ) -> Self:
        """Make the folder and own it; ``info`` (versions, machine ...) goes into run.json."""
        now = datetime.now().astimezone()
        path = out or (base or Path(RUNS)) / f"{name}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(Mistake("--out", f"{path} exists and is not an empty folder", "name another one"))
        folder = cls(path)
        for sub in _FOLDERS:
            (path / sub).mkdir(parents=True, exist_ok=True)
        folder._own()
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
        """A handle on a folder that is there; complains about what is none, or is of a later format."""
        folder = cls(path)
        info = folder.info
        if info.get("format") != FORMAT:
            raise BadInput(
                Mistake(str(path), f"is of format {info.get('format')}, this version reads {FORMAT}")
            )
        return folder

    # ---- what is known about the run

    @property
    def info(self) -> dict[str, Any]:
        try:
            info = json.loads((self.path / "run.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise BadInput(
                Mistake(str(self.path), "is not a run folder", "it has no readable run.json")
            ) from error
        if not isinstance(info, dict):
            raise BadInput(Mistake(str(self.path), "is not a run folder", "its run.json is no object"))
        return info

    @property
    def state(self) -> str:
        """The state, where a run that nobody owns any more and that never ended is ``crashed``."""
        state = str(self.info["state"])
        return "crashed" if state == "running" and not self.is_running() else state

    @property
    def t0_ns(self) -> int:
        """Where times count from: the start of load, or of the run when load never started."""
        info = self.info
        return int(info["created_ns"] if info["t0_ns"] is None else info["t0_ns"])

    def update(self, **changes: Any) -> None:
        """Change run.json in one step."""
        self.write_json("run.json", self.info | changes)

    def set_phase(self, phase: str) -> None:
        self.update(phase=phase)

    def set_state(self, state: str, **changes: Any) -> None:
        if state not in STATES:
            raise Defect(f"no such state of a run: {state}")
        self.update(state=state, **changes)

    def set_t0(self, t0_ns: int) -> None:
        """The start of load on the one clock, and what the wall clock says at that moment."""
        wall = time.time() + (t0_ns - time.monotonic_ns()) / 1e9
        self.update(t0_ns=t0_ns, t0_wall=datetime.fromtimestamp(wall).astimezone().isoformat())

    # ---- what lies in it

    @property
    def events(self) -> EventLog:
        if self._events is None:
            self._events = EventLog(self.path / "events.jsonl")
        return self._events

    def read_events(self) -> list[dict[str, Any]]:
        return list(read_events(self.path / "events.jsonl", self.t0_ns))

    def log_path(self, host: str, component: str) -> Path:
        return self.logs / f"{host}.{component}.log"

    def new_journal(self, schema: str, name: str, instance: int = 1) -> tuple[Path, Identity]:
        """Path and identity for the next start of a client; each start has a journal of its own."""
        pattern = re.compile(rf"^{re.escape(f'{schema}.{name}.{instance}.')}(\d+){re.escape(SUFFIX)}$")
        taken = [int(match[1]) for file in self.raw.iterdir() if (match := pattern.match(file.name))]
        identity = Identity(name, instance, max(taken, default=0) + 1)
        return self.raw / identity.file_name(schema), identity

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, json.dumps(value, indent=1, default=str) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a file of the folder so that readers see the old one or the new one, never a part."""
        target = self.path / name
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.new")
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
        """Kafka's own word at the end: (topic, partition, start, end)."""
        self.write_json("raw/offsets.json", rows)

    # ---- who owns it

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

    def _own(self) -> None:
        self._lock_fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def list_runs(base: Path | None = None) -> list[RunFolder]:
    """The run folders in ``base``, newest first."""
    base = base or Path(RUNS)
    found = []
    for path in base.iterdir() if base.is_dir() else ():
        with suppress(BadInput):
            found.append(RunFolder.open(path))
    return sorted(found, key=lambda folder: (str(folder.info["created"]), folder.path.name), reverse=True)


def find_run(reference: str, base: Path | None = None) -> RunFolder:
    """A run by folder, by id, by the name of its experiment, or ``latest``; a running one wins."""
    if (Path(reference) / "run.json").exists():
        return RunFolder.open(Path(reference))
    runs = list_runs(base)
    chosen = [
        run
        for run in runs
        if reference in ("latest", run.path.name, run.info["name"])
        or run.path.name.startswith(f"{reference}-")
    ]
    if not chosen:
        known = ", ".join(run.path.name for run in runs[:5]) or "there are no runs yet"
        raise BadInput(Mistake(reference, "no such run", f"a folder, a name, or latest; known: {known}"))
    return next((run for run in chosen if run.is_running()), chosen[0])
