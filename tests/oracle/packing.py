"""Many histories in one run folder, so that Spark audits all of them in one job."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stream2gym.analysis.fake_run import FakeRun
from tests.oracle.kafka_model import History

_TIMES = ("due_ns", "sent_ns", "done_ns", "at_ns", "event_ns")


def pack(histories: Iterable[History], path: Path, *, warmup_s: float = 0.0) -> Path:
    """Write a run folder with the rows of all histories; their names keep them apart.

    With ``warmup_s`` t0 is so much later: what happened before it is a warm-up.
    """
    whole = FakeRun(topics=[], producers=[], consumers=[], trace=[])
    for history in histories:
        for kind in ("topics", "producers", "consumers", "trace"):
            whole.experiment[kind] += history.run.experiment.get(kind, [])
        for table, rows in history.run.rows.items():
            whole.rows[table] += [_earlier(row, warmup_s) for row in rows]
        whole.events += [
            _earlier(event, 0.0 if event["event"] == "phase" else warmup_s) for event in history.run.events
        ]
    if warmup_s:
        whole.event("phase", -warmup_s, phase="warmup")
    return whole.write(path)


def _earlier(row: dict[str, Any], by_s: float) -> dict[str, Any]:
    """The row with all its times moved."""
    times = {name: row[name] - round(by_s * 1e9) for name in _TIMES if row.get(name) is not None}
    return {**row, **times}
