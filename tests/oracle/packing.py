"""Many histories in one run folder, so that Spark audits all of them in one job."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stream2gym.analysis.fake_run import FakeRun
from tests.oracle.kafka_model import History


def pack(histories: Iterable[History], path: Path) -> Path:
    """Write a run folder with the rows of all histories; their names keep them apart."""
    whole = FakeRun(topics=[], producers=[], consumers=[], trace=[])
    for history in histories:
        for kind in ("topics", "producers", "consumers", "trace"):
            whole.experiment[kind] += history.run.experiment.get(kind, [])
        for table, rows in history.run.rows.items():
            whole.rows[table] += rows
        whole.events += history.run.events
    return whole.write(path)
