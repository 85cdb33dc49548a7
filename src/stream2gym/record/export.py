"""Writes tables as CSV, Parquet or JSON files for other tools. Large tables are read and written part by part."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

Format = Literal["csv", "parquet", "json"]
SUFFIXES: dict[Format, str] = {"csv": ".csv", "parquet": ".parquet", "json": ".jsonl"}
_ROWS_AT_ONCE = 100_000


def export_file(source: Path, target: Path, form: Format) -> int:
    """Write a Parquet file in another format; returns the number of rows."""
    with pq.ParquetFile(source) as file:
        return _write(file.schema_arrow, file.iter_batches(_ROWS_AT_ONCE), target, form)


def export_rows(rows: Sequence[Mapping[str, Any]], target: Path, form: Format) -> int:
    """Write rows of plain values; values that are lists or mappings become JSON text."""
    table = make_table(rows)
    return _write(table.schema, iter(table.to_batches(_ROWS_AT_ONCE)), target, form)


def make_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """An Arrow table of rows of plain values. A column with values of several types becomes text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [_flatten(row.get(name)) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            texts = [None if value is None else str(value) for value in values]
            columns[name] = pa.array(texts, pa.string())
    return pa.table(columns)


def _flatten(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value


def _write(schema: pa.Schema, batches: Iterator[pa.RecordBatch], target: Path, form: Format) -> int:
    writers: dict[Format, Callable[[pa.Schema, Iterator[pa.RecordBatch], Path], int]] = {
        "csv": _write_csv, "parquet": _write_parquet, "json": _write_json,
    }  # fmt: skip
    return writers[form](schema, batches, target)


def _write_csv(schema: pa.Schema, batches: Iterator[pa.RecordBatch], target: Path) -> int:
    """A header, then a line for each row. A cell that has no value is empty."""
    rows = 0
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(schema.names)
        for batch in batches:
            writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            rows += batch.num_rows
    return rows


def _write_parquet(schema: pa.Schema, batches: Iterator[pa.RecordBatch], target: Path) -> int:
    rows = 0
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_json(_schema: pa.Schema, batches: Iterator[pa.RecordBatch], target: Path) -> int:
    rows = 0
    with target.open("w", encoding="utf-8") as out:
        for batch in batches:
            out.writelines(json.dumps(row, default=str) + "\n" for row in batch.to_pylist())
            rows += batch.num_rows
    return rows
