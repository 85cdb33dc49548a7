"""What a door hands over: the experiment as plain data in the words of the YAML format, and its origins."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from stream2gym.errors import Mistake
from stream2gym.spec.places import Origins

Door = Literal["graphml", "yaml"]


@dataclass
class Draft:
    """Data as read, not yet an experiment. Relative paths in it stand against ``base``."""

    door: Door
    base: Path
    data: dict[str, Any] = field(default_factory=dict)
    origins: Origins = field(default_factory=Origins)
    files: list[Path] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)
    excused: set[str] = field(default_factory=set)  # names whose definition was unreadable: not missing
