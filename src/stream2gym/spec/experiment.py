"""The experiment as a whole: topology, components, topics, faults, expectations and parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from stream2gym.kinds.base import Model, Moment, Name, Strings, Texts, Whole, inline_settings
from stream2gym.spec.components import (
    Broker,
    Component,
    Consumer,
    Engine,
    Kafka,
    Producer,
    Sink,
    Source,
    Store,
    Topic,
)
from stream2gym.spec.fault_groups import has_groups, write_out
from stream2gym.spec.names import component_stem, fill_names
from stream2gym.spec.topology import Topology
from stream2gym.units import Duration

# The groups of components in the order in which kinds start, with the word for one of them.
GROUPS = {
    "brokers": "broker", "stores": "store", "sources": "source", "sinks": "sink", "engines": "engine",
    "consumers": "consumer", "producers": "producer",
}  # fmt: skip


class Constraint(Model):
    """Exactly one of the three, naming components (globs allowed)."""

    colocate: Strings | None = None
    exlocate: Strings | None = None
    isolate: Strings | None = None


class Placement(Model):
    """Where components go that name no host."""

    by: Literal["round-robin", "random", "least-loaded", "nearest", "central"] = "round-robin"
    hosts: Strings = Field(default_factory=list)  # where free components may go; empty: every host
    constraints: list[Constraint] = Field(default_factory=list)


class Trace(Model):
    """How a message of one topic is recognised in another after an engine has worked on it."""

    from_: str = Field(alias="from")
    to: str
    by: str = "header"  # header | key | value | json:$.path


class Check(Model):
    """A program that compares results with those of an implementation of its own, when the load is over.

    ``topics`` and ``tables`` (``STORE.TABLE``) are written down for it before; without topics all of them are.
    """

    name: Name
    app: str
    topics: Strings = Field(default_factory=list)
    tables: Strings = Field(default_factory=list)
    args: Texts = Field(default_factory=list)


class Fault(Model):
    """Something done to the network or a component at a time; keys beyond these belong to its kind."""

    INLINE = True

    name: Name | None = None
    do: str
    on: Strings = Field(default_factory=list)
    at: Moment = None
    for_: Duration | None = Field(default=None, alias="for")
    every: Duration | None = None
    until: Duration | None = None
    jitter: Duration | None = None
    within: tuple[Duration, Duration] | None = None
    when: str | None = None
    after: Strings | None = None  # one condition, or faults that must all have ended
    delay: Duration | None = None
    settings: dict[str, Any] = Field(default_factory=dict)  # of the kind, checked by it

    @model_validator(mode="before")
    @classmethod
    def _inline(cls, value: Any) -> Any:
        return inline_settings(cls, value)


class FaultGroup(Model):
    """Faults one after the other, or all at once; groups may stand in groups."""

    name: Name | None = None
    at: Moment = None
    when: str | None = None
    after: Strings | None = None
    sequence: list[Fault | FaultGroup] | None = None
    parallel: list[Fault | FaultGroup] | None = None


def _without_groups(items: Any) -> Any:
    if not has_groups(items):
        return items
    out = write_out(list(items))
    if out.findings:
        raise ValueError("; ".join(f"{finding.what} ({finding.hint})" for finding in out.findings))
    return out.faults


Faults = Annotated[
    list[Fault], BeforeValidator(_without_groups, json_schema_input_type=list[Fault | FaultGroup])
]


class Experiment(Model):
    """What the user said, checked. Components and faults without a name get one."""

    s2g: Literal[1] = 1
    name: Name = "experiment"
    seed: Whole = Field(default=1, ge=0)
    topology: Topology = Field(default_factory=Topology)
    kafka: Kafka = Field(default_factory=Kafka)
    brokers: list[Broker] = Field(default_factory=list)
    topics: list[Topic] = Field(default_factory=list)
    producers: list[Producer] = Field(default_factory=list)
    engines: list[Engine] = Field(default_factory=list)
    stores: list[Store] = Field(default_factory=list)
    sinks: list[Sink] = Field(default_factory=list)
    sources: list[Source] = Field(default_factory=list)
    consumers: list[Consumer] = Field(default_factory=list)
    placement: Placement = Field(default_factory=Placement)
    trace: list[Trace] = Field(default_factory=list)
    time: Duration = Duration(10.0)
    drain: Duration = Duration(20.0)
    startup: Literal["fast", "as-configured"] = "fast"
    faults: Faults = Field(default_factory=list)
    checks: list[Check] = Field(default_factory=list)
    expect: Strings = Field(default_factory=list)

    @model_validator(mode="after")
    def _named(self) -> Self:
        every = [part.name for _, part in self.components() if part.name]
        for group, kind in GROUPS.items():
            parts = getattr(self, group)
            stems = [component_stem(kind, part.on, getattr(part, "controller", None)) for part in parts]
            names = fill_names([part.name for part in parts], stems, every)
            setattr(self, group, [_with_name(part, name) for part, name in zip(parts, names, strict=True)])
        names = fill_names([fault.name for fault in self.faults], [fault.do for fault in self.faults])
        self.faults = [_with_name(fault, name) for fault, name in zip(self.faults, names, strict=True)]
        return self

    def components(self) -> list[tuple[str, Component]]:
        """Every component with its kind, in the order in which kinds start."""
        return [(kind, component) for group, kind in GROUPS.items() for component in getattr(self, group)]


def _with_name(part: Any, name: str) -> Any:
    """A copy when a name was missing, so that a part used in two experiments keeps none of either."""
    return part if part.name else part.model_copy(update={"name": name})
