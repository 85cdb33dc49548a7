"""How long every phase of a run took, from its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stream2gym.analysis.tables import PhaseRow


def phase_rows(events: Iterable[dict[str, Any]]) -> tuple[PhaseRow, ...]:
    """Phases in order; each ends when the next one begins, the last one is open."""
    begun = sorted((e["t_s"], str(e.get("phase", ""))) for e in events if e.get("event") == "phase")
    ends: list[float | None] = [at_s for at_s, _ in begun[1:]]
    return tuple(
        PhaseRow(name, from_s, to_s) for (from_s, name), to_s in zip(begun, [*ends, None], strict=False)
    )
