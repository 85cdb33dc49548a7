"""From one form of an experiment to another: YAML text, or GraphML with the files it refers to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stream2gym.spec.experiment import GROUPS, Experiment
from stream2gym.spec.sparse import sparse_experiment
from stream2gym.spec.tographml import to_graphml
from stream2gym.spec.toyaml import write_yaml

__all__ = ["rebase", "to_graphml", "to_yaml"]


def to_yaml(experiment: Experiment) -> str:
    """The experiment as YAML; reading it gives the same experiment."""
    return write_yaml(sparse_experiment(experiment))


def rebase(experiment: Experiment, old: Path, new: Path) -> Experiment:
    """The same experiment with its relative paths standing against another folder."""
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
