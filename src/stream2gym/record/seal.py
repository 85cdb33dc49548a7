"""Sealing: the journals of a finished run become its Parquet tables.

Works on what is there, so also on a folder whose owner was killed. Every table is written beside its name
and renamed when it is whole; the journals go only after all tables stand. A second call finds nothing to do,
and a call that was cut short is simply made again. Rows pass through in blocks, so memory does not grow with
the record.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from stream2gym.errors import Defect
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import SUFFIX, WITH_KEY, Reader
from stream2gym.record.messages import first_seq
from stream2gym.record.tables import STATUSES, TABLES, flaw_names

BLOCK_ROWS = 1 << 18
_ARROW = {"q": pa.int64(), "i": pa.int32(), "d": pa.float64(), "H": pa.uint16(), "B": pa.uint8()}

Columns = dict[str, Any]


def seal(folder: RunFolder) -> dict[str, int]:
    """Turn ``raw/`` into ``data/*.parquet`` and remove it; returns the rows of each table."""
    if folder.info["sealed"]:
        shutil.rmtree(folder.raw, ignore_errors=True)
        return dict(folder.info["rows"])
    journals, broken = _journals(folder.raw)
    t0_ns = folder.t0_ns
    rows = {}
    for name, schema in TABLES.items():
        if name == "offsets":
            batches = _offsets(folder.raw / "offsets.json", schema)
        else:
            batches = _batches(journals.get(name, []), schema, t0_ns)
        rows[name] = _write(folder.data / f"{name}.parquet", schema, batches)
    for path, reason in broken:
        folder.events.add("record-unreadable", file=path.name, reason=reason)
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
    """Write a table in one step; names are dictionary-encoded, numbers are not worth it."""
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


def _batches(readers: list[Reader], schema: pa.Schema, t0_ns: int) -> Iterator[pa.RecordBatch]:
    for reader in readers:
        shape = _SHAPES[reader.layout.schema]
        texts, start = pa.array(reader.strings()), 0
        for block in reader.blocks(BLOCK_ROWS):
            raw = _columns(reader, block)
            count = len(raw["mark"])
            columns = shape(reader, raw, texts, start, t0_ns)
            yield pa.RecordBatch.from_arrays(
                [_filled(columns[field.name], field.type, count) for field in schema], schema=schema
            )
            start += count


def _columns(reader: Reader, block: bytes) -> Columns:
    """The columns of a block of rows: cut out of each row, then read as what they are."""
    size = reader.layout.row_bytes
    rows = pa.Array.from_buffers(pa.binary(size), len(block) // size, [None, pa.py_buffer(block)])
    letters = dict(reader.layout.columns)
    return {
        name: pc.binary_slice(rows, at, at + packing.size).view(_ARROW[letters[name]])
        for name, (at, packing) in reader.layout.offsets.items()
    }


def _filled(column: Any, kind: pa.DataType, count: int) -> pa.Array:
    """An array of the table's type; a plain value stands in every row."""
    if not isinstance(column, pa.Array):
        if pa.types.is_dictionary(kind):
            return pa.DictionaryArray.from_arrays(
                pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([column], pa.string())
            )
        return pa.repeat(pa.scalar(column, kind), count)
    return column if column.type == kind else column.cast(kind)


def _named(numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """Texts by their numbers; number 0, or one whose text never reached the disk, is null."""
    known = pc.and_(pc.greater(numbers, 0), pc.less(numbers, len(texts)))
    return pa.DictionaryArray.from_arrays(pc.if_else(known, numbers.cast(pa.int32()), None), texts)


def _coded(numbers: pa.Array, names: list[str]) -> pa.Array:
    """Names of a closed list by their numbers (a list may say a name twice)."""
    return pc.take(pa.array(names), numbers.cast(pa.int32())).dictionary_encode()


def _unless(column: pa.Array, absent: pa.Array) -> pa.Array:
    return pc.if_else(absent, None, column)


def _no_key(mark: pa.Array) -> pa.Array:
    return pc.equal(pc.bit_wise_and(mark, pa.scalar(WITH_KEY, pa.uint8())), 0)


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
    }


def _received(reader: Reader, raw: Columns, texts: pa.Array, _start: int, t0_ns: int) -> Columns:
    foreign = pc.equal(raw["producer"], 0)
    return {
        "consumer": reader.identity.name,
        "instance": reader.identity.instance,
        "group": str(reader.identity.extra.get("group", "")),
        "topic": _named(raw["topic"], texts),
        "partition": raw["partition"],
        "offset": raw["offset"],
        "producer": _named(raw["producer"], texts),
        "seq": _unless(raw["seq"], foreign),
        "key_hash": _unless(raw["key_hash"], _no_key(raw["mark"])),
        "value_hash": raw["value_hash"],
        "size": raw["size"],
        "broker_ms": _unless(raw["broker_ms"], pc.less(raw["broker_ms"], 0)),
        "at_ns": pc.subtract(raw["at_ns"], t0_ns),
    }


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
