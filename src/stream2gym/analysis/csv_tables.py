"""Writes the tables of an analysis as CSV files for other tools, into the folder ``analysis/`` of the run folder."""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path
from typing import Any

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import Analysis, LatencyRow
from stream2gym.kinds.metrics import SPREAD

TABLES = (
    "sent", "received", "fetched", "audit", "positions", "cut_off", "evidence", "latency", "latency_series", "flow",
    "traces",
    "links", "link_series", "leaders", "changes", "resources", "resource_series", "gauges", "sampled", "phases",
    "jobs", "faults", "recovery", "backlogs", "outages", "debts",
)  # fmt: skip


def write_tables(analysis: Analysis, folder: Path) -> None:
    """Write every table that has rows, and remove the files of an earlier analysis for those that have none."""
    folder.mkdir(exist_ok=True)
    for name in TABLES:
        rows = getattr(analysis, name)
        file = folder / f"{name}.csv"
        if not rows:
            file.unlink(missing_ok=True)
            continue
        records = [make_record(row) for row in rows]
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(records[0]))
            writer.writeheader()
            writer.writerows(records)


def make_record(row: Any) -> dict[str, Any]:
    """A row of an analysis as plain values. A histogram becomes its statistics."""
    record = {f.name: getattr(row, f.name) for f in fields(row)}
    if isinstance(row, LatencyRow):
        histogram: Histogram = record.pop("histogram")
        record.pop("clear")
        record.pop("earliest")
        record |= {"count": histogram.count}
        record |= {f"{stat}_s": histogram.value(stat) for stat in SPREAD}
    return {name: _flatten(value) for name, value in record.items()}


def _flatten(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return " ".join(f"{key}={part}" for key, part in value.items()) if isinstance(value, dict) else value
