"""How many messages were sent and received in all, counted without Spark, so that people need not wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.record.folder import RunFolder

_STATUS = {"acked": "acknowledged", "unconfirmed": "unconfirmed", "failed": "failed"}


@dataclass(frozen=True)
class MessageTotals:
    """How many messages a run sent and received. They do not tell whether the right messages arrived."""

    sent: int = 0
    acknowledged: int = 0
    unconfirmed: int = 0
    failed: int = 0
    unanswered: int = 0
    received: int = 0
    warmup: int = 0  # of the messages sent, those of the warm-up
    held: int | None = None  # messages in all topics at the end, by Kafka's own offsets; None: it was not asked

    def __str__(self) -> str:
        answers = [
            (self.unconfirmed, "unconfirmed"),
            (self.failed, "failed"),
            (self.unanswered, "unanswered"),
        ]
        more = "".join(f", {number:,} {name}" for number, name in answers if number)
        others = self.held is not None and self.held > self.sent
        held = f"; Kafka holds {self.held:,}, others wrote too" if others else ""
        warmup = f" ({self.warmup:,} of them in the warm-up)" if self.warmup else ""
        return (
            f"{self.sent:,} sent{warmup}, {self.acknowledged:,} acknowledged{more}, {self.received:,} received{held}"
        )


def count_totals(run: Path) -> MessageTotals:
    """Count statuses and receipts of a sealed run folder."""
    statuses = _count_statuses(run / "data" / "sent.parquet")
    # Times count from t0. Without one, load never began: all messages are of the warm-up.
    has_load = RunFolder(run).info.get("t0_ns") is not None
    named = {name: statuses.get(status, 0) for status, name in _STATUS.items()}
    sent = sum(statuses.values())
    received = run / "data" / "received.parquet"
    return MessageTotals(
        sent=sent,
        unanswered=sent - sum(named.values()),
        received=pq.read_metadata(received).num_rows if received.is_file() else 0,
        warmup=_count_warmup(run / "data" / "sent.parquet") if has_load else sent,
        held=_count_held(run / "data" / "offsets.parquet"),
        **named,
    )


def _count_held(file: Path) -> int | None:
    """The messages in all partitions, by Kafka's own offsets. None: Kafka did not tell."""
    rows = pq.read_table(file).to_pylist() if file.is_file() else []
    return sum(row["end"] - row["start"] for row in rows) if rows else None


def _count_warmup(file: Path) -> int:
    """How many messages were due before t0."""
    if not file.is_file():
        return 0
    batches = pq.ParquetFile(file).iter_batches(columns=["due_ns"])
    return sum(int(pc.sum(pc.less(batch.column(0), 0)).as_py() or 0) for batch in batches)


def _count_statuses(file: Path) -> dict[str, int]:
    """How many messages have each status. Row groups are read one at a time, so that memory stays flat."""
    found: dict[str, int] = {}
    if not file.is_file():
        return found
    for batch in pq.ParquetFile(file).iter_batches(columns=["status"]):
        for entry in batch.column(0).value_counts().to_pylist():
            name = str(entry["values"])
            found[name] = found.get(name, 0) + int(entry["counts"])
    return found
