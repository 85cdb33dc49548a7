"""The counts that a person waits for, at once: no Spark, only sums over columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from stream2gym.jsonable import Jsonable

_STATUS = {"acked": "acknowledged", "unconfirmed": "unconfirmed", "failed": "failed"}


@dataclass(frozen=True)
class QuickCounts(Jsonable):
    """Messages in all; nothing here says yet whether the right ones arrived."""

    sent: int = 0
    acknowledged: int = 0
    unconfirmed: int = 0
    failed: int = 0
    unanswered: int = 0
    received: int = 0
    by_consumer: dict[str, int] | None = None

    def __str__(self) -> str:
        answers = [
            (self.unconfirmed, "unconfirmed"),
            (self.failed, "failed"),
            (self.unanswered, "unanswered"),
        ]
        more = "".join(f", {number:,} {name}" for number, name in answers if number)
        return f"{self.sent:,} sent, {self.acknowledged:,} acknowledged{more}, {self.received:,} received"


def quick_counts(run: Path) -> QuickCounts:
    """Count statuses and receipts of a sealed run folder."""
    statuses = _counts(run / "data" / "sent.parquet", "status")
    consumers = _counts(run / "data" / "received.parquet", "consumer")
    named = {name: statuses.get(status, 0) for status, name in _STATUS.items()}
    sent = sum(statuses.values())
    return QuickCounts(
        sent=sent,
        unanswered=sent - sum(named.values()),
        received=sum(consumers.values()),
        by_consumer=consumers,
        **named,
    )


def _counts(file: Path, column: str) -> dict[str, int]:
    """How often each value of a column of names stands there; a row group at a time, so that memory stays flat."""
    found: dict[str, int] = {}
    if not file.is_file():
        return found
    for batch in pq.ParquetFile(file).iter_batches(columns=[column]):
        for entry in batch.column(0).value_counts().to_pylist():
            name = str(entry["values"])
            found[name] = found.get(name, 0) + int(entry["counts"])
    return found
