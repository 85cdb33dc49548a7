"""What the recorder is told by the run: one JSON object in the environment variable ``S2G_RECORDER``."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

VARIABLE = "S2G_RECORDER"
# The folder that is put on the PYTHONPATH of a program.
RECORDER_PATH = Path(__file__).resolve().parent / "onpath"


@dataclass(frozen=True)
class Settings:
    """Where the record of a program goes and in whose name it is written."""

    raw: str  # the folder of the journals
    name: str  # of the component
    instance: int = 1
    host: str = ""
    label: str = ""  # the name of this process in samples
    header: bool = True  # whether messages get the header ``s2g``
    group: str = ""  # stands for the group of a consumer that has none
    hash_by: dict[str, str] = field(default_factory=dict)  # how the values of a topic are hashed

    def to_text(self) -> str:
        return json.dumps(asdict(self))


def read_settings() -> Settings | None:
    """The settings of this process; None where nobody asked for a record."""
    text = os.environ.get(VARIABLE)
    return Settings(**json.loads(text)) if text else None
