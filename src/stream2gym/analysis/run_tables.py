"""All tables of a run folder by name: those of the record, the events, and those of the analysis.

A table of the record and one of the analysis may have the same name (``sent``, ``received``). The one of the record
keeps it, and that of the analysis is then called ``sent_counts``, ``received_counts``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream2gym.analysis.csv_tables import TABLES as ANALYSED
from stream2gym.analysis.csv_tables import make_record
from stream2gym.analysis.result_tables import Analysis
from stream2gym.record.folder import RunFolder
from stream2gym.record.schemas import TABLES as RECORDED

EVENTS = "events"
_COUNTS = "_counts"


def list_tables(folder: RunFolder) -> list[str]:
    """The names of the tables that a run folder has, those of the record first."""
    recorded = [name for name in RECORDED if (folder.data / f"{name}.parquet").is_file()]
    analysed = list(ANALYSED) if (folder.path / "analysis.json").is_file() else []
    return [*recorded, EVENTS, *(_name_analysed(name) for name in analysed)]


def find_recorded(folder: RunFolder, name: str) -> Path | None:
    """The Parquet file of a table of the record. None for any other table."""
    file = folder.data / f"{name}.parquet"
    return file if name in RECORDED and file.is_file() else None


def read_rows(folder: RunFolder, name: str, analysis: Analysis | None = None) -> list[dict[str, Any]]:
    """The rows of the events or of a table of the analysis. Raises KeyError for another name."""
    if name == EVENTS:
        return folder.read_events()
    wanted = next((one for one in ANALYSED if _name_analysed(one) == name), None)
    if wanted is None:
        raise KeyError(name)
    found = analysis or Analysis.from_json(json.loads((folder.path / "analysis.json").read_text("utf-8")))
    return [make_record(row) for row in getattr(found, wanted)]


def _name_analysed(name: str) -> str:
    return f"{name}{_COUNTS}" if name in RECORDED else name
