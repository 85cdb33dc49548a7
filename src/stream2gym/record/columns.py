"""The columns of a block of journal rows, as Arrow arrays over the same bytes."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stream2gym.record.journal import Reader

BLOCK_ROWS = 1 << 18
_ARROW = {"q": pa.int64(), "i": pa.int32(), "d": pa.float64(), "H": pa.uint16(), "B": pa.uint8()}

Columns = dict[str, Any]


def read_columns(reader: Reader, block: bytes, names: Container[str] | None = None) -> Columns:
    """The named columns of a block of rows, or all: cut out of each row, then read as what they are."""
    size = reader.layout.row_bytes
    rows = pa.Array.from_buffers(pa.binary(size), len(block) // size, [None, pa.py_buffer(block)])
    letters = dict(reader.layout.columns)
    return {
        name: pc.binary_slice(rows, at, at + packing.size).view(_ARROW[letters[name]])
        for name, (at, packing) in reader.layout.offsets.items()
        if names is None or name in names
    }
