"""The results that a run ended with, as its record has them: the last messages of topics, the last rows of tables.

``data/values.jsonl`` holds what was read at the end of the run. Of a run that came to no such end, the latest values
that consumers received and the latest rows that were seen stand in their place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.record.latest_values import SEALED

MOST_SAMPLES = 24
MOST_ROWS = 8
MOST_FIELDS = 8
LONGEST_CELL = 300


@dataclass(frozen=True)
class ResultSample:
    """Some rows of a topic or of a table of a store, the last one first."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    at_end: bool


def read_results(folder: Path) -> tuple[ResultSample, ...]:
    """The results in a run folder; none if it holds none."""
    rows = sorted(_read_lines(folder / "data" / SEALED), key=lambda row: int(row["at_ns"]))
    return (*_sample_topics(rows), *_sample_tables(rows))[:MOST_SAMPLES]


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("at_ns"), int):
            yield row


def _sample_topics(rows: Iterable[dict[str, Any]]) -> list[ResultSample]:
    messages = [row for row in rows if "topic" in row]
    at_end = [row for row in messages if row.get("end")]
    topics: dict[str, dict[tuple[int, int], dict[str, Any]]] = {}
    for row in at_end or messages:
        topics.setdefault(str(row["topic"]), {})[row["partition"], row["offset"]] = row
    found = []
    for topic, places in sorted(topics.items()):
        last = list(places.values())[: -MOST_ROWS - 1 : -1]
        columns, values = split_fields([_cut(row.get("value")) or "" for row in last])
        cells = tuple(
            (f"{row['partition']}/{row['offset']}", _cut(row.get("key")), *value)
            for row, value in zip(last, values, strict=True)
        )
        found.append(ResultSample(f"Last messages of {topic}", ("offset", "key", *columns), cells, bool(at_end)))
    return found


def split_fields(values: list[str]) -> tuple[tuple[str, ...], list[tuple[str | None, ...]]]:
    """Values as columns: one for each field where all are flat JSON objects of the same few fields, else one."""
    objects = []
    for value in values:
        try:
            objects.append(json.loads(value))
        except ValueError:
            break
    fields = tuple(objects[0]) if objects and isinstance(objects[0], dict) else ()
    is_alike = len(objects) == len(values) and all(isinstance(one, dict) and tuple(one) == fields for one in objects)
    if not is_alike or not 0 < len(fields) <= MOST_FIELDS or any(_is_nested(one) for one in objects):
        return ("value",), [(value,) for value in values]
    return fields, [tuple(_show_field(one[field]) for field in fields) for one in objects]


def _is_nested(fields: dict[str, Any]) -> bool:
    return any(isinstance(field, dict | list) for field in fields.values())


def _show_field(field: Any) -> str | None:
    return field if field is None or isinstance(field, str) else json.dumps(field)


def _sample_tables(rows: Iterable[dict[str, Any]]) -> list[ResultSample]:
    newest = {(str(row["store"]), str(row.get("table"))): row for row in rows if "store" in row}
    found = []
    for (store, table), row in sorted(newest.items()):
        by = f", by {row['by']}" if row.get("by") else ""
        cells = tuple(tuple(_cut(cell) for cell in cells) for cells in row["rows"][:MOST_ROWS])
        columns = tuple(map(str, row["columns"]))
        found.append(ResultSample(f"Last rows of {store}/{table}{by}", columns, cells, bool(row.get("end"))))
    return found


def _cut(text: Any) -> str | None:
    if text is None:
        return None
    whole = str(text)
    return whole if len(whole) <= LONGEST_CELL else whole[: LONGEST_CELL - 1] + "…"
