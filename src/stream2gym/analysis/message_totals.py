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
    # Of the messages sent, those of the warm-up.
    warmup: int = 0
    # Offsets of all topics at the end, of messages and of marks of transactions. None: Kafka was not asked.
    held: int | None = None

    def __str__(self) -> str:
        answers = [
            (self.unconfirmed, "unconfirmed"),
            (self.failed, "failed"),
            (self.unanswered, "unanswered"),
        ]
        more = "".join(f", {number:,} {name}" for number, name in answers if number)
        held = ""
        if self.held is not None and self.held > self.sent:
            held = f"; Kafka's topics have {self.held:,} offsets: others wrote too, or transactions left marks"
            if not self.sent:
                held = f"; Kafka holds {self.held:,}, others wrote too"
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
    """The offsets of all partitions from their starts to their ends. None: Kafka did not tell."""
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
