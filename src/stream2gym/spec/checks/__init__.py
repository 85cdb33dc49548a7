"""Checks of well-formed experiments. Each check is a generator of findings."""

from __future__ import annotations

from stream2gym.spec.checks.experiment_checks import check_experiment

__all__ = ["check_experiment"]
