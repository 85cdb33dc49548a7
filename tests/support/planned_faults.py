"""Planned faults as a plan holds them: with their settings checked."""

from __future__ import annotations

from dataclasses import replace

from stream2gym.kinds.registry import registry
from stream2gym.plan.planned import PlannedFault


def checked(fault: PlannedFault) -> PlannedFault:
    """The fault with its settings as the model of its kind."""
    kind = registry("fault").find(fault.kind)
    assert kind is not None, fault.kind
    return replace(fault, checked_settings=kind.settings.model_validate(fault.settings))


class NoConditions:
    """Knows nothing about the run, so that no condition of a fault ever comes true."""

    def number(self, name: str) -> float | None:
        return None

    def who_is(self, role: str) -> str | None:
        return None
