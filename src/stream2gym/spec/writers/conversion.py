"""Converts an experiment: to YAML text, or to other relative paths. ``graphml_writer`` writes GraphML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stream2gym.spec.model.experiment import GROUPS, Experiment
from stream2gym.spec.writers.short_form import shorten_experiment
from stream2gym.spec.writers.yaml_writer import write_yaml


def to_yaml(experiment: Experiment, *, quote_yes_no_keys: bool = False) -> str:
    """The experiment as YAML text. Reading the text gives the same experiment.

    ``quote_yes_no_keys`` is for other readers: in YAML 1.1 a bare key ``on`` is the boolean true.
    """
    return write_yaml(shorten_experiment(experiment), quote_yes_no_keys=quote_yes_no_keys)


def rebase(experiment: Experiment, old: Path, new: Path) -> Experiment:
    """The same experiment with its relative paths relative to another folder."""
    if old.resolve() == new.resolve():
        return experiment

    def moved(path: Any) -> Any:
        if not isinstance(path, str) or os.path.isabs(path):
            return path
        return os.path.relpath(old.resolve() / path, new.resolve()) + ("/" if path.endswith("/") else "")

    changed: dict[str, Any] = {}
    for group in GROUPS:
        parts = []
        for part in getattr(experiment, group):
            update = {key: moved(getattr(part, key)) for key in ("file", "app") if getattr(part, key, None)}
            if group == "producers" and part.arrivals.file:
                update["arrivals"] = part.arrivals.model_copy(update={"file": moved(part.arrivals.file)})
            if group == "stores" and "init" in part.settings:
                update["settings"] = part.settings | {"init": moved(part.settings["init"])}
            parts.append(part.model_copy(update=update))
        changed[group] = parts
    return experiment.model_copy(update=changed)
