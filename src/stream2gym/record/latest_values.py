"""The latest results of a run, for people who look at it: a few values and rows, and only their beginnings.

The journals hold hashes of values. Beside the journal of a consumer, ``NAME.values`` holds some of the values as JSON
lines: ``{"at_ns", "topic", "partition", "offset", "key", "value"}``, texts cut off at ``LONGEST`` characters. The
longer the file is, the less often something is added, so that it stays small however long the run is.

``stores.values`` holds the last rows of the tables of stores: ``{"at_ns", "store", "table", "by", "columns",
"rows"}`` (see ``clients.latest_rows``). ``end.values`` holds what topics and tables ended with, each line with
``"end": true``. Sealing makes one ``data/values.jsonl`` of all of them. No verdict rests on it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

SUFFIX = ".values"
SEALED = "values.jsonl"
LONGEST = 1000
# Messages of one write, the time between two writes of a small file, and the size at which that time has doubled.
KEPT = 5
EVERY_NS = 500_000_000
DOUBLES_AT_BYTES = 64 << 10

Place = tuple[str, int, int]  # topic, partition, offset


class LatestValues:
    """Writes the latest values of one consumer, or the latest rows of stores."""

    def __init__(self, path: Path) -> None:
        self._fd = -1
        with suppress(OSError):
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._bytes = 0
        self._next_ns = 0

    def is_due(self, now_ns: int) -> bool:
        """Whether values that are received now are wanted."""
        return self._fd >= 0 and now_ns >= self._next_ns

    def write(self, messages: list[tuple[Place, bytes | None, bytes]], now_ns: int) -> None:
        """Write the last of these messages, each with its place, key and value. A full disk ends the writing."""
        rows = []
        for (topic, partition, offset), key, value in messages[-KEPT:]:
            rows.append(
                {
                    "topic": topic, "partition": partition, "offset": offset,
                    "key": None if key is None else show_value(key), "value": show_value(value),
                }
            )  # fmt: skip
        self.add(rows, now_ns)

    def add(self, rows: Iterable[Mapping[str, Any]], now_ns: int) -> None:
        """Write these rows with their time."""
        if self._fd < 0:
            return
        data = "".join(json.dumps({"at_ns": now_ns, **row}) + "\n" for row in rows).encode()
        try:
            os.write(self._fd, data)
        except OSError:
            self.close()
        self._bytes += len(data)
        self._next_ns = now_ns + EVERY_NS + EVERY_NS * self._bytes // DOUBLES_AT_BYTES

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def seal_values(raw: Path, data: Path) -> None:
    """Make one file of the values of all consumers. Nothing is made if there are none."""
    files = sorted(raw.glob(f"*{SUFFIX}")) if raw.is_dir() else []
    contents = b"".join(file.read_bytes() for file in files)
    if contents:
        unfinished = data / f"{SEALED}.new"
        unfinished.write_bytes(contents)
        os.replace(unfinished, data / SEALED)


def show_value(value: bytes) -> str:
    """Bytes as text that is no longer than ``LONGEST``."""
    # A character has at most four bytes.
    text = value[: 4 * LONGEST].decode("utf-8", "replace")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
