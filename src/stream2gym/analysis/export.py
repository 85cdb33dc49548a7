"""The tables of an analysis as files that other tools read: CSV, one a table, in the run folder's ``analysis/``."""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path
from typing import Any

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.tables import Analysis, LatencyRow
from stream2gym.kinds.metrics import SPREAD

_TABLES = (
    "sent", "received", "audit", "positions", "evidence", "latency", "latency_series", "flow", "traces", "links",
    "link_series", "leaders", "changes", "resources", "resource_series", "gauges", "phases",
)  # fmt: skip


def write_tables(analysis: Analysis, folder: Path) -> None:
    """Write every table that has rows; those of an earlier analysis are replaced."""
    folder.mkdir(exist_ok=True)
    for name in _TABLES:
        rows = getattr(analysis, name)
        file = folder / f"{name}.csv"
        if not rows:
            file.unlink(missing_ok=True)
            continue
        records = [_record(row) for row in rows]
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(records[0]))
            writer.writeheader()
            writer.writerows(records)


def _record(row: Any) -> dict[str, Any]:
    record = {f.name: getattr(row, f.name) for f in fields(row)}
    if isinstance(row, LatencyRow):
        histogram: Histogram = record.pop("histogram")
        record |= {"count": histogram.count}
        record |= {f"{stat}_s": histogram.value(stat) for stat in SPREAD}
    return {name: _flat(value) for name, value in record.items()}


def _flat(value: Any) -> Any:
    return " ".join(f"{key}={part}" for key, part in value.items()) if isinstance(value, dict) else value
