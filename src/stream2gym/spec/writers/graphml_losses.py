"""Lists what one experiment has and another has not, with one line for each part."""

from __future__ import annotations

from typing import Any

from stream2gym.spec.model.experiment import GROUPS, Experiment
from stream2gym.spec.writers.short_form import shorten

_WHOLE = (
    "seed", "kafka", "placement", "trace", "warmup", "time", "drain", "startup", "checks", "capture", "monitors",
    "expect",
)  # fmt: skip


def list_losses(said: Experiment, kept: Experiment) -> list[str]:
    """Every part of ``said`` that ``kept`` lacks or has with other values."""
    found = [
        f"{key}: {_brief(shorten(getattr(said, key)))}" for key in _WHOLE if getattr(said, key) != getattr(kept, key)
    ]
    if said.topology.routing != kept.topology.routing:
        found.append("topology.routing")
    for kind, group in (("host", "hosts"), ("link", "links")):
        ours, theirs = getattr(said.topology, group), getattr(kept.topology, group)
        found += _compared(kind, ours, {part.name: part for part in theirs}, lambda part: part.name)
    found += _compared("topic", said.topics, {topic.name: topic for topic in kept.topics}, lambda topic: topic.name)
    for group, kind in GROUPS.items():
        theirs = {}
        for part in getattr(kept, group):
            theirs.setdefault(part.on, part)
        found += _compared(kind, getattr(said, group), theirs, lambda part: part.on)
    found += _compared("fault", said.faults, dict(enumerate(kept.faults)), said.faults.index)
    return found


def _compared(kind: str, ours: list[Any], theirs: dict[Any, Any], key: Any) -> list[str]:
    """The parts of one list that have no equal partner in the other."""
    found = []
    for part in ours:
        other = theirs.pop(key(part), None)  # each partner is used once, so a second part on the same host has none
        if other is None:
            found.append(f"{kind} {part.name}: all of it")
            continue
        fields = [
            field.alias or name
            for name, field in type(part).model_fields.items()
            if getattr(part, name) != getattr(other, name) and not _same(name, getattr(part, name))
        ]
        if fields:
            found.append(f"{kind} {part.name}: {', '.join(fields)}")
    return found


def _same(name: str, ours: Any) -> bool:
    """Whether a difference has no meaning, because a default became explicit or an explicit value a default."""
    return (name in ("passes", "via") and ours is None) or (name, ours) == ("mode", "upsert")


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
