"""Turns an experiment into plain data without defaults, with short forms where they express everything."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from stream2gym.kinds.link_settings import BurstLoss, Jitter, LinkChange, Queue
from stream2gym.kinds.settings import Model
from stream2gym.spec.model.components import Restart, Topic, WeightedTopic
from stream2gym.spec.model.default_names import component_stem, fill_names
from stream2gym.spec.model.experiment import GROUPS, Experiment, Fault
from stream2gym.spec.model.topology import Host, Link, Switch
from stream2gym.spec.model.traffic import Arrivals, Keys, Sizes
from stream2gym.units import Quantity, Share

# Models with a short form of one value, and the field that the value fills.
_SHORT: dict[type[BaseModel], str] = {
    Host: "name", Switch: "name", Topic: "name", WeightedTopic: "name", Jitter: "amount", Restart: "times",
    Arrivals: "kind", Sizes: "mean", Keys: "kind",
}  # fmt: skip
_BASE = {"Duration": "s", "Bandwidth": "bps", "Size": "B", "Rate": "/s", "ByteRate": "B/s"}


def shorten_experiment(experiment: Experiment) -> dict[str, Any]:
    """The experiment in the words of its format, ready to be written."""
    plain: dict[str, Any] = {"s2g": 1} | shorten(_without_default_names(experiment))
    return plain


def shorten(value: Any) -> Any:
    """Any part of an experiment as plain data."""
    if isinstance(value, Link):
        return _link(value)
    if isinstance(value, BaseModel):
        return _model(value)
    if isinstance(value, Quantity):
        return format_quantity(value)
    if isinstance(value, list | tuple):
        return [shorten(item) for item in value]
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    return value


def format_quantity(quantity: Quantity) -> str:
    """The quantity as people write it, with as many digits as it needs."""
    kind = type(quantity)
    text = str(quantity)
    if float(kind.parse(text)) == float(quantity):
        return text
    if isinstance(quantity, Share):
        return f"{Decimal(repr(float(quantity))).scaleb(2)} %"
    return f"{float(quantity)!r} {_BASE.get(kind.__name__, '')}".replace(" /s", "/s")


def _model(model: BaseModel) -> Any:
    """The fields of a model that differ from their defaults, or its short form."""
    said: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if field.is_required() or value != field.get_default(call_default_factory=True):
            said[field.alias or name] = shorten(value)
    if isinstance(model, Fault) and len(model.on) == 1:
        said["on"] = model.on[0]
    if isinstance(model, Link):
        said = {"between": said.pop("between")} | said
    if isinstance(model, Queue) and len(said) == 1:
        return f"{model.packets} packets" if model.packets else said["bytes"]
    short = _SHORT.get(type(model))
    if short is not None and set(said) == {short}:
        return said[short]
    own = set(type(model).known_keys()) if isinstance(model, Model) else set()
    settings = said.get("settings")
    if isinstance(model, Model) and model.INLINE and settings and not own & settings.keys():
        del said["settings"]
        said |= settings
    return said


def _link(link: Link) -> Any:
    """A link as one line of text if that expresses everything, else as keys."""
    parts = []
    for name in LinkChange.model_fields:
        value = getattr(link, name)
        if value is None:
            continue
        if name in ("latency", "bandwidth"):
            parts.append(format_quantity(value))
        elif name == "up":
            parts.append("up" if value else "down")
        elif isinstance(value, BurstLoss):
            return _model(link)
        else:
            parts.append(f"{shorten(value)} {name}" if name != "mtu" else f"mtu {value}")
    if link.ports != (None, None):
        parts.append("ports " + "/".join("-" if port is None else str(port) for port in link.ports))
    text = f"{link.name}: {', '.join(parts)}" if parts else link.name
    try:
        return text if Link.model_validate(text) == link else _model(link)
    except ValueError:
        return _model(link)


def _without_default_names(experiment: Experiment) -> Experiment:
    """The same experiment without the names that it would get by default."""
    bare: dict[str, Any] = {}
    for group, kind in GROUPS.items():
        parts = getattr(experiment, group)
        stems = [component_stem(kind, part.on, getattr(part, "controller", None)) for part in parts]
        bare[group] = _unnamed(parts, fill_names([None] * len(parts), stems))
    bare["faults"] = _unnamed(experiment.faults, fill_names([None] * len(experiment.faults),
                                                            [fault.do for fault in experiment.faults]))  # fmt: skip
    candidate = experiment.model_copy(update=bare)
    named = [part.name for _, part in experiment.components()]
    again = Experiment.model_validate(candidate.model_copy(deep=True).model_dump(by_alias=True))
    same = [part.name for _, part in again.components()] == named
    return candidate if same and [f.name for f in again.faults] == [f.name for f in experiment.faults] else experiment


def _unnamed(parts: list[Any], defaults: list[str]) -> list[Any]:
    return [
        part.model_copy(update={"name": None}) if part.name == default else part
        for part, default in zip(parts, defaults, strict=True)
    ]
