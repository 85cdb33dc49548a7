"""What readers return: the experiment as plain data in the words of the YAML format, and the origins of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from stream2gym.errors import Mistake
from stream2gym.spec.findings import Origins

InputFormat = Literal["graphml", "yaml"]


@dataclass
class Draft:
    """Data that was read but not validated. Relative paths in it are relative to ``base``."""

    input_format: InputFormat
    base: Path
    data: dict[str, Any] = field(default_factory=dict)
    origins: Origins = field(default_factory=Origins)
    files: list[Path] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)
    # Names whose definition could not be read. They are not reported as unknown.
    excused: set[str] = field(default_factory=set)
