"""What a run shows to whoever watches it, while it goes on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class LoadProgress:
    """Progress of the load: messages sent, acknowledged, failed and received so far."""

    sent: int = 0
    acked: int = 0
    failed: int = 0
    received: int = 0
    # Messages that all groups together are behind; None until it is known.
    lag: int | None = None
    # Seconds since t0; None before t0 is decided.
    load_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class View(Protocol):
    """Shows a run. The threads of the run call it; no call may block."""

    def phase(self, name: str) -> None:
        """The phase of this name begins."""

    def event(self, event: dict[str, Any]) -> None:
        """An event was recorded."""

    def progress(self, progress: LoadProgress) -> None:
        """The load has come this far; called a few times a second."""

    def note(self, text: str) -> None:
        """A sentence for people, which the record does not keep."""


class SilentView:
    """A view that shows nothing."""

    def phase(self, name: str) -> None: ...

    def event(self, event: dict[str, Any]) -> None: ...

    def progress(self, progress: LoadProgress) -> None: ...

    def note(self, text: str) -> None: ...
