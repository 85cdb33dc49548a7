"""Runs an experiment for real and looks at its record, without analysis and report."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from stream2gym.api import prepare
from stream2gym.execution import phases
from stream2gym.execution.drive_load import Load
from stream2gym.execution.new_folder import new_folder
from stream2gym.execution.phases import execute_run
from stream2gym.execution.run_control import Outcome, RunControl
from stream2gym.execution.view import SilentView
from stream2gym.interrupts import Interrupts
from stream2gym.record.folder import RunFolder


@dataclass
class Played:
    """A run that is over."""

    outcome: Outcome
    folder: RunFolder

    def events(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        return [
            event
            for event in self.folder.read_events()
            if event["event"] == kind and all(event.get(key) == value for key, value in wanted.items())
        ]

    def samples(self, source: str, obj: str, metric: str) -> list[float]:
        rows = pq.read_table(self.folder.data / "samples.parquet").to_pylist()
        place = (source, obj, metric)
        return [row["value"] for row in rows if (row["source"], row["object"], row["metric"]) == place]

    def log(self, name: str) -> str:
        return (self.folder.logs / name).read_text("utf-8", errors="replace")


class Meddling:
    """Stands for the faults of a run: does something else during the load, which does not end before it is done."""

    held: frozenset[str] = frozenset()

    def __init__(self, deed: Callable[[Load], None], load: Load) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._done = self._thread.submit(deed, load)

    def end_load(self) -> None:
        self._done.result()

    def close(self) -> None:
        self._thread.shutdown()


@contextlib.contextmanager
def instead_of_faults(start: Callable[[RunControl, Load], Any]) -> Iterator[None]:
    """While the block runs, runs call ``start`` at t0 in place of starting the faults of their plan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases, "start_faults", start)
        yield


def play(
    experiment: dict[str, Any] | Path,
    folder: Path,
    programs: dict[str, str] | None = None,
    at_t0: Callable[[Load], None] | None = lambda _load: None,
    overrides: dict[str, str] | None = None,
) -> Played:
    """Run an experiment, given as a path or as keys that are written to a file beside its programs.

    The faults of its plan do not happen; ``at_t0`` is called in their place, on a thread of its own. With None in its
    place they do happen.
    """
    if isinstance(experiment, dict):
        folder.mkdir(exist_ok=True)
        for name, text in (programs or {}).items():
            (folder / name).write_text(text)
        path = folder / "experiment.yaml"
        path.write_text(yaml.safe_dump({"s2g": 1, "name": "test", **experiment}))
    else:
        path = experiment
    planned, loaded = prepare(path, overrides=overrides)
    run = new_folder(planned, loaded, folder / "run")
    meddling = contextlib.nullcontext() if at_t0 is None else instead_of_faults(partial(_meddle, at_t0))
    with Interrupts() as interrupts, meddling:
        try:
            outcome = execute_run(planned, run, SilentView(), interrupts)
        finally:
            run.release()
    return Played(outcome, run)


def _meddle(deed: Callable[[Load], None], _run: RunControl, load: Load) -> Meddling:
    return Meddling(deed, load)


def star(hosts: int, link: str = "1 ms") -> dict[str, Any]:
    """A topology: hosts h1, h2 ... around a switch."""
    names = [f"h{number}" for number in range(1, hosts + 1)]
    return {"hosts": names, "switches": ["s1"], "links": [f"{name} -- s1: {link}" for name in names]}
