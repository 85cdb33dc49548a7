"""Reads from a run folder with which ``acks`` each producer of ours sent."""

from __future__ import annotations

from pathlib import Path

import yaml

from stream2gym.spec.model import Producer


def read_acks(folder: Path) -> dict[str, str]:
    """The setting of each producer by its name. Programs of the user are left out: they choose it themselves."""
    try:
        experiment = yaml.safe_load((folder / "experiment.yaml").read_text("utf-8"))
        producers = experiment.get("producers") or []
        usual = Producer.model_fields["acks"].default
        return {str(one["name"]): str(one.get("acks", usual)) for one in producers if not one.get("app")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError):
        return {}
