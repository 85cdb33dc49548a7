"""What a run tells whoever watches it, while it goes on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

PHASES = (
    "software",
    "network",
    "brokers",
    "topics",
    "consumers",
    "engines",
    "load",
    "drain",
    "stop",
    "seal",
    "analysis",
    "report",
)


@dataclass(frozen=True)
class Numbers:
    """How far it is. ``lag`` is None until somebody knows."""

    sent: int = 0
    acked: int = 0
    failed: int = 0
    received: int = 0
    lag: int | None = None
    load_s: float | None = None  # since t0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class View(Protocol):
    """Gets news from the run's threads; must not block."""

    def phase(self, name: str) -> None: ...

    def event(self, event: dict[str, Any]) -> None: ...

    def numbers(self, numbers: Numbers) -> None: ...

    def note(self, text: str) -> None: ...


class Silent:
    """A view that shows nothing."""

    def phase(self, name: str) -> None: ...

    def event(self, event: dict[str, Any]) -> None: ...

    def numbers(self, numbers: Numbers) -> None: ...

    def note(self, text: str) -> None: ...
