"""Runs an experiment for real and looks at its record, without analysis and report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from stream2gym.api import new_folder, prepare
from stream2gym.gym import Gym, Outcome
from stream2gym.gymlife.patience import Interrupts
from stream2gym.gymlife.view import Silent
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


class Meddler:
    """In the place of faults: called with the gym at t0."""

    held: frozenset[str] = frozenset()

    def __init__(self, gym: Gym, deed: Callable[[Gym], None]) -> None:
        deed(gym)

    def end_load(self) -> None: ...

    def close(self) -> None: ...


def play(
    experiment: dict[str, Any] | Path,
    folder: Path,
    programs: dict[str, str] | None = None,
    at_t0: Callable[[Gym], None] | None = None,
    overrides: dict[str, str] | None = None,
) -> Played:
    """Run an experiment, given as a path or as keys that are written to a file beside its programs."""
    if isinstance(experiment, dict):
        folder.mkdir(exist_ok=True)
        for name, text in (programs or {}).items():
            (folder / name).write_text(text)
        path = folder / "experiment.yaml"
        path.write_text(yaml.safe_dump({"s2g": 1, "name": "test", **experiment}))
    else:
        path = experiment
    script, loaded = prepare(path, overrides=overrides)
    run = new_folder(script, loaded, folder / "run")
    faults = None if at_t0 is None else lambda gym: Meddler(gym, at_t0)
    with Interrupts() as interrupts:
        try:
            outcome = Gym(script, run, Silent(), interrupts, faults=faults).run()
        finally:
            run.release()
    return Played(outcome, run)


def star(hosts: int, link: str = "1 ms") -> dict[str, Any]:
    """A topology: hosts h1, h2 ... around a switch."""
    names = [f"h{number}" for number in range(1, hosts + 1)]
    return {"hosts": names, "switches": ["s1"], "links": [f"{name} -- s1: {link}" for name in names]}
