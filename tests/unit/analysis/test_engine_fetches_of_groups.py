from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from stream2gym.analysis.engine_fetches import count_fetched
from stream2gym.record.schemas import RECEIVED_TABLE


def test_what_an_engine_fetched_of_different_topics_is_counted_across_the_parts_of_the_table(tmp_path: Path) -> None:
    schema = pa.schema([RECEIVED_TABLE.field(name) for name in ("topic", "partition", "group", "consumer")])
    schema = schema.append(RECEIVED_TABLE.field("offset")).append(RECEIVED_TABLE.field("size"))
    path = tmp_path / "received.parquet"
    with pq.ParquetWriter(path, schema) as writer:
        for topic, offsets in (("in", [0, 1]), ("other", [0]), ("in", [1, 2])):
            rows: list[dict[str, Any]] = [
                {"topic": topic, "partition": 0, "group": "", "consumer": "job", "offset": offset, "size": 10}
                for offset in offsets
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema))
    inputs = cast(Any, SimpleNamespace(engines_on_wire=["job"], table=lambda _name: path))
    found = {row.topic: (row.messages, row.offsets, row.bytes) for row in count_fetched(inputs)}
    assert found == {"in": (4, 3, 40), "other": (1, 1, 10)}
