"""Seals a run: makes Parquet tables of its journals.

It works on the journals that are there, and so also on a folder whose owner was killed. A table gets its name when it
is whole, and the journals are removed after all tables are written. So a call that was interrupted can be repeated,
and a second call has nothing to do. Rows are read in blocks, so that memory does not grow with the record,
but for the places of messages that carry no header (see ``unmarked``).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.errors import Defect
from stream2gym.record.columns import BLOCK_ROWS, Columns, read_columns
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import SUFFIX, UNPACED, WITH_KEY, Reader
from stream2gym.record.latest_values import seal_values
from stream2gym.record.messages import first_seq
from stream2gym.record.program_record import read_notes
from stream2gym.record.schemas import STATUSES, TABLES, flaw_names
from stream2gym.record.unmarked import UnmarkedMessages, has_header

# What the notes of the recorder of a program are called as events.
EVENTS_OF_NOTES = {"loaded": "recorder-loaded", "client": "observed", "unrecorded": "unobserved"}


def seal(folder: RunFolder) -> dict[str, int]:
    """Make ``data/*.parquet`` of ``raw/`` and remove ``raw/``. Returns the number of rows of each table."""
    if folder.info["sealed"]:
        shutil.rmtree(folder.raw, ignore_errors=True)
        return dict(folder.info["rows"])
    journals, broken = _journals(folder.raw)
    t0_ns = folder.t0_ns
    sent = [reader for reader in journals.get("sent", []) if not has_header(reader)]
    unmarked = UnmarkedMessages(sent, journals.get("received", []) if sent else [])
    rows = {}
    for name, schema in TABLES.items():
        if name == "offsets":
            batches = _offsets(folder.raw / "offsets.json", schema)
        else:
            batches = _batches(journals.get(name, []), t0_ns, unmarked)
        rows[name] = _write(folder.data / f"{name}.parquet", schema, batches)
    seal_values(folder.raw, folder.data)
    for path, reason in broken:
        folder.events.add("record-unreadable", file=path.name, reason=reason)
    for note in read_notes(folder.raw):
        kind = str(note.pop("event"))
        folder.events.add(EVENTS_OF_NOTES.get(kind, kind), **note)
    folder.update(sealed=True, rows=rows)
    shutil.rmtree(folder.raw, ignore_errors=True)
    return rows


def _journals(raw: Path) -> tuple[dict[str, list[Reader]], list[tuple[Path, str]]]:
    found: dict[str, list[Reader]] = {}
    broken = []
    for path in sorted(raw.glob(f"*{SUFFIX}")) if raw.is_dir() else ():
        try:
            reader = Reader(path)
        except (OSError, Defect) as error:
            broken.append((path, str(error)))
        else:
            found.setdefault(reader.layout.schema, []).append(reader)
    return found, broken


def _write(path: Path, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    """Write a table in one step. Only names are dictionary-encoded. Returns the number of its rows."""
    unfinished = path.with_suffix(".new")
    path.parent.mkdir(exist_ok=True)
    names = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    rows = 0
    with pq.ParquetWriter(unfinished, schema, compression="zstd", use_dictionary=names) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    return rows


def _batches(readers: list[Reader], t0_ns: int, unmarked: UnmarkedMessages) -> Iterator[pa.RecordBatch]:
    for reader in readers:
        texts, start = pa.array(reader.strings()), 0
        for block in reader.blocks(BLOCK_ROWS):
            batch = shape_rows(reader, block, texts, start, t0_ns)
            if unmarked and reader.layout.schema == "received":
                batch = _recognised(batch, read_columns(reader, block), unmarked)
            yield batch
            start += batch.num_rows


def shape_rows(reader: Reader, block: bytes, texts: pa.Array, start: int, t0_ns: int) -> pa.RecordBatch:
    """Rows of a journal as rows of their table. ``start`` is the number of the first of them in the journal."""
    schema = TABLES[reader.layout.schema]
    raw = read_columns(reader, block)
    columns = _SHAPES[reader.layout.schema](reader, raw, texts, start, t0_ns)
    count = len(raw["mark"])
    return pa.RecordBatch.from_arrays(
        [_filled(columns[field.name], field.type, count) for field in schema], schema=schema
    )


def _filled(column: Any, kind: pa.DataType, count: int) -> pa.Array:
    """A column as an array of the table's type. A plain value is repeated in every row."""
    if not isinstance(column, pa.Array):
        if pa.types.is_dictionary(kind):
            return pa.DictionaryArray.from_arrays(
                pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([column], pa.string())
            )
        return pa.repeat(pa.scalar(column, kind), count)
    return column if column.type == kind else column.cast(kind)


def _named(numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """The texts of a column of numbers. Number 0, and a number without a text, is null."""
    known = pc.and_(pc.greater(numbers, 0), pc.less(numbers, len(texts)))
    return pa.DictionaryArray.from_arrays(pc.if_else(known, numbers.cast(pa.int32()), None), texts)


def _coded(numbers: pa.Array, names: list[str]) -> pa.Array:
    """The names of a column of numbers, from a fixed list."""
    return pc.take(pa.array(names), numbers.cast(pa.int32())).dictionary_encode()


def _unless(column: pa.Array, absent: pa.Array) -> pa.Array:
    return pc.if_else(absent, None, column)


def _no_key(mark: pa.Array) -> pa.Array:
    return _lacks(mark, WITH_KEY)


def _lacks(mark: pa.Array, bit: int) -> pa.Array:
    return pc.equal(pc.bit_wise_and(mark, pa.scalar(bit, pa.uint8())), 0)


def _sent(reader: Reader, raw: Columns, texts: pa.Array, start: int, t0_ns: int) -> Columns:
    who = reader.identity
    first = first_seq(who.instance, who.incarnation) + start
    unreported = pc.equal(raw["status"], 0)
    return {
        "producer": who.name,
        "instance": who.instance,
        "seq": pa.array(range(first, first + len(raw["mark"])), pa.int64()),
        "topic": _named(raw["topic"], texts),
        "partition": _unless(raw["partition"], pc.or_(unreported, pc.less(raw["partition"], 0))),
        "offset": _unless(raw["offset"], pc.or_(unreported, pc.less(raw["offset"], 0))),
        "key_hash": _unless(raw["key_hash"], _no_key(raw["mark"])),
        "value_hash": raw["value_hash"],
        "size": raw["size"],
        "due_ns": pc.subtract(raw["due_ns"], t0_ns),
        "sent_ns": _unless(pc.subtract(raw["sent_ns"], t0_ns), pc.equal(raw["sent_ns"], 0)),
        "done_ns": _unless(pc.subtract(raw["done_ns"], t0_ns), pc.equal(raw["done_ns"], 0)),
        "status": _coded(raw["status"], list(STATUSES)),
        "error": _named(raw["error"], texts),
        "paced": _lacks(raw["mark"], UNPACED),
    }


def _received(reader: Reader, raw: Columns, texts: pa.Array, _start: int, t0_ns: int) -> Columns:
    foreign = pc.equal(raw["producer"], 0)
    return {
        "consumer": reader.identity.name,
        "instance": reader.identity.instance,
        "group": str(reader.identity.extra.get("group", "")),
        "topic": _named(raw["topic"], texts),
        "partition": raw["partition"],
        # A queue of RabbitMQ gives its messages no offsets.
        "offset": _unless(raw["offset"], pc.less(raw["offset"], 0)),
        "producer": _named(raw["producer"], texts),
        "seq": _unless(raw["seq"], foreign),
        "key_hash": _unless(raw["key_hash"], _no_key(raw["mark"])),
        "value_hash": raw["value_hash"],
        "size": raw["size"],
        "broker_ms": _unless(raw["broker_ms"], pc.less(raw["broker_ms"], 0)),
        "at_ns": pc.subtract(raw["at_ns"], t0_ns),
    }


def _recognised(batch: pa.RecordBatch, raw: Columns, unmarked: UnmarkedMessages) -> pa.RecordBatch:
    """Receipts in which those without a header have the producer and number of the message at their place.

    So have those with a header that the message at their place only forwards.
    """
    producer, seq, is_forwarded = unmarked.find(batch.column("topic"), raw)
    by_place = pc.or_(pc.is_null(batch.column("seq")), is_forwarded)
    names = pc.if_else(by_place, producer, batch.column("producer").cast(pa.string())).dictionary_encode()
    found = {"producer": names, "seq": pc.if_else(by_place, seq, batch.column("seq"))}
    columns = [found.get(field.name, batch.column(field.name)) for field in batch.schema]
    return pa.RecordBatch.from_arrays(
        [_filled(column, field.type, batch.num_rows) for column, field in zip(columns, batch.schema, strict=True)],
        schema=batch.schema,
    )


def _samples(_reader: Reader, raw: Columns, texts: pa.Array, _start: int, t0_ns: int) -> Columns:
    names = {name: _named(raw[name], texts) for name in ("source", "object", "metric")}
    return {"at_ns": pc.subtract(raw["at_ns"], t0_ns), "value": raw["value"], **names}


def _truth(reader: Reader, raw: Columns, _texts: pa.Array, _start: int, t0_ns: int) -> Columns:
    return {
        "producer": reader.identity.name,
        "instance": reader.identity.instance,
        "event": raw["event"],
        "seq": _unless(raw["seq"], pc.less(raw["seq"], 0)),
        "event_ns": pc.subtract(raw["event_ns"], t0_ns),
        "value_hash": raw["value_hash"],
        "flaws": _coded(raw["flaws"], [flaw_names(bits) for bits in range(32)]),
    }


_SHAPES: dict[str, Callable[[Reader, Columns, pa.Array, int, int], Columns]] = {
    "sent": _sent, "received": _received, "samples": _samples, "truth": _truth,
}  # fmt: skip


def _offsets(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        rows = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return
    columns = [pa.array([row[at] for row in rows]) for at in range(len(schema))]
    yield pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
