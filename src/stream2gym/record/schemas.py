"""The tables of a sealed run, column by column, as Parquet and PySpark see them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_NAME = pa.dictionary(pa.int32(), pa.string())

SENT_TABLE = pa.schema(
    [
        ("producer", _NAME), ("instance", pa.int32()), ("seq", pa.int64()), ("topic", _NAME),
        ("partition", pa.int32()), ("offset", pa.int64()), ("key_hash", pa.int64()), ("value_hash", pa.int64()),
        ("size", pa.int32()), ("due_ns", pa.int64()), ("sent_ns", pa.int64()), ("done_ns", pa.int64()),
        ("status", _NAME), ("error", _NAME), ("paced", pa.bool_()),
    ]
)  # fmt: skip
RECEIVED_TABLE = pa.schema(
    [
        ("consumer", _NAME), ("instance", pa.int32()), ("group", _NAME), ("topic", _NAME),
        ("partition", pa.int32()), ("offset", pa.int64()), ("producer", _NAME), ("seq", pa.int64()),
        ("key_hash", pa.int64()), ("value_hash", pa.int64()), ("size", pa.int32()), ("broker_ms", pa.int64()),
        ("at_ns", pa.int64()),
    ]
)  # fmt: skip
OFFSETS_TABLE = pa.schema([("topic", _NAME), ("partition", pa.int32()), ("start", pa.int64()), ("end", pa.int64())])
SAMPLES_TABLE = pa.schema(
    [("at_ns", pa.int64()), ("source", _NAME), ("object", _NAME), ("metric", _NAME), ("value", pa.float64())]
)
TRUTH_TABLE = pa.schema(
    [
        ("producer", _NAME), ("instance", pa.int32()), ("event", pa.int64()), ("seq", pa.int64()),
        ("event_ns", pa.int64()), ("value_hash", pa.int64()), ("flaws", _NAME),
    ]
)  # fmt: skip
TABLES = {
    "sent": SENT_TABLE, "received": RECEIVED_TABLE, "offsets": OFFSETS_TABLE, "samples": SAMPLES_TABLE,
    "truth": TRUTH_TABLE,
}  # fmt: skip

STATUSES = (
    "queued",
    "acked",
    "unconfirmed",
    "failed",
    "queued",
)  # by the journal's number; see DELIVERED there
FLAWS = ("late", "disordered", "duplicated", "missing", "noisy")  # by the journal's bits, lowest first


def flaw_names(bits: int) -> str:
    """The flaws of an event as text: ``late+noisy``; none is the empty text."""
    return "+".join(name for bit, name in enumerate(FLAWS) if bits >> bit & 1)


def read_table(data: Path, name: str) -> pa.Table:
    """A whole table in memory: for tests and small runs; analysis reads the files itself."""
    return pq.read_table(data / f"{name}.parquet")
