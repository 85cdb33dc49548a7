"""The experiment as a whole: topology, components, topics, faults, expectations and parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from stream2gym.kinds.registry import BUILT_IN
from stream2gym.kinds.settings import Interval, Model, Moment, Name, Strings, Texts, Whole
from stream2gym.spec.model.components import (
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
from stream2gym.spec.model.copies import without_copies
from stream2gym.spec.model.default_names import component_stem, fill_names
from stream2gym.spec.model.fault_groups import flatten_groups, has_groups
from stream2gym.spec.model.kind_settings import HasKindSettings
from stream2gym.spec.model.topology import Topology
from stream2gym.units import Duration

T = TypeVar("T")
# A list in which an item may say how many copies of it there are.
Several = Annotated[list[T], BeforeValidator(without_copies)]

# The sections of components in the order in which kinds start, with the kind of each.
GROUPS = {
    "brokers": "broker", "stores": "store", "sources": "source", "sinks": "sink", "engines": "engine",
    "consumers": "consumer", "producers": "producer",
}  # fmt: skip


class Constraint(Model):
    """A constraint on the hosts of components, which are given by name or glob. Exactly one of the keys is given."""

    colocate: Strings | None = Field(default=None, description="components that share a host")
    exlocate: Strings | None = Field(default=None, description="components on a host each")
    isolate: Strings | None = Field(default=None, description="components with a host to themselves")


class Placement(Model):
    """How hosts are chosen for components that name none."""

    by: Literal["round-robin", "random", "least-loaded", "nearest", "central"] = Field(
        default="round-robin", description="how hosts are chosen"
    )
    hosts: Strings = Field(default_factory=list, description="hosts to choose from; default: all")
    constraints: list[Constraint] = Field(
        default_factory=list, description="which components must or must not share a host"
    )
    leaders: Literal["kafka", "round-robin"] = Field(
        default="kafka",
        description="who leads topics that name no leader: whom Kafka chooses, or the brokers in turn",
    )


class Trace(Model):
    """How a message of one topic is recognised in another topic after an engine has processed it."""

    from_: str = Field(alias="from", description="topic that the engine reads")
    to: str = Field(description="topic that the engine writes")
    by: str = Field(default="header", description="how a message is recognised: header, key, value, or json:$.path")


class Check(Model):
    """A program that compares results with those of its own implementation. It runs after the load.

    The contents of ``topics`` and ``tables`` (``STORE.TABLE``) are written to files for it; without ``topics`` those
    of all topics.
    """

    name: Name = Field(description="what events, logs, faults and expectations call it")
    app: str = Field(description="a program of yours; its path is relative to this file")
    topics: Strings = Field(default_factory=list, description="topics that are written to files for it; default: all")
    tables: Strings = Field(
        default_factory=list, description="tables that are written to files for it, as STORE.TABLE"
    )
    args: Texts = Field(default_factory=list, description="arguments of the program")


class Fault(HasKindSettings):
    """A change of the network or of a component at a time. Further keys belong to its kind."""

    FAMILY = "fault"

    name: Name | None = Field(default=None, description="what events, logs, faults and expectations call it")
    do: str = Field(description="which kind of fault")
    on: Strings = Field(
        default_factory=list,
        description="one target or a list: a name, a link, a glob, or a role like 'leader of TOPIC'",
    )
    at: Moment = Field(default=None, description="a time from the start of load, or a share of the load")
    for_: Duration | None = Field(default=None, alias="for", description="how long; without it until the end")
    every: Duration | None = Field(default=None, description="repeated with this period")
    until: Duration | None = Field(default=None, description="no repetition after this")
    jitter: Duration | None = Field(default=None, description="each start is moved by up to this much")
    within: tuple[Duration, Duration] | None = Field(default=None, description="a random moment in this window")
    when: str | None = Field(default=None, description="a condition, like 'lag > 5000' or 'broker-h2 is controller'")
    after: Strings | None = Field(default=None, description="a number of messages, or the end of other faults")
    delay: Duration | None = Field(default=None, description="how much later than that it starts")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="the keys of its type; they may also stand beside the others"
    )

    @property
    def kind_name(self) -> str:
        return self.do


class FaultGroup(Model):
    """Faults one after the other, or at the same time. A group may contain groups."""

    name: Name | None = Field(default=None, description="what events, logs, faults and expectations call it")
    at: Moment = Field(
        default=None, description="when the group begins: a time from the start of load, or a share of the load"
    )
    when: str | None = Field(default=None, description="a condition that the group waits for")
    after: Strings | None = Field(default=None, description="a number of messages, or the end of other faults")
    sequence: list[Fault | FaultGroup] | None = Field(default=None, description="faults one after the other")
    parallel: list[Fault | FaultGroup] | None = Field(default=None, description="faults at the same time")


def _without_groups(items: Any) -> Any:
    """The faults of a list that may contain groups. A ValueError says what is wrong with the groups."""
    if not has_groups(items):
        return items
    out = flatten_groups(list(items))
    if out.findings:
        raise ValueError("; ".join(f"{finding.what} ({finding.hint})" for finding in out.findings))
    return out.faults


def list_monitors(schema: dict[str, Any]) -> None:
    """Name the monitors of this version in the schema, for editors. Those of plug-ins are accepted, too."""
    interval = schema["additionalProperties"]
    schema["properties"] = {
        kind.name: {**interval, "description": f"{kind.summary}; default {kind.every_s:g} s"}
        for kind in BUILT_IN["monitor"]
        if kind.adjustable
    }


Faults = Annotated[list[Fault], BeforeValidator(_without_groups, json_schema_input_type=list[Fault | FaultGroup])]


class Experiment(Model):
    """A validated experiment. Components and faults without a name get a default name."""

    s2g: Literal[1] = Field(default=1, description="format version, always 1")
    name: Name = Field(default="experiment", description="name of the experiment; its runs are called after it")
    seed: Whole = Field(default=1, ge=0, description="of everything that is random")
    topology: Topology = Field(
        default_factory=Topology, description="hosts, switches and links, or a generated shape"
    )
    kafka: Kafka = Field(default_factory=Kafka, description="what holds for all brokers")
    brokers: Several[Broker] = Field(default_factory=list, description="where Kafka runs")
    topics: Several[Topic] = Field(
        default_factory=list, description="made before the load begins; a topic with defaults is just its name"
    )
    producers: Several[Producer] = Field(default_factory=list, description="what sends messages")
    engines: Several[Engine] = Field(default_factory=list, description="stream processing jobs and their clusters")
    stores: Several[Store] = Field(default_factory=list, description="databases")
    sinks: Several[Sink] = Field(default_factory=list, description="what moves topics straight into stores")
    sources: Several[Source] = Field(default_factory=list, description="what serves lines on a socket")
    consumers: Several[Consumer] = Field(default_factory=list, description="what reads messages")
    placement: Placement = Field(
        default_factory=Placement, description="where components without a host of their own go"
    )
    trace: list[Trace] = Field(default_factory=list, description="how a message is recognised behind an engine")
    warmup: Duration = Field(
        default=Duration(0.0),
        description="load before the measured load, which no performance figure counts; delivery does",
    )
    time: Duration = Field(default=Duration(10.0), description="length of the load; fault times count from its start")
    drain: Duration = Field(
        default=Duration(20.0), description="how long consumers may take to reach the end after the load"
    )
    startup: Literal["fast", "as-configured"] = Field(
        default="fast",
        description="fast: software starts over unshaped links, without CPU limits; as-configured: with both",
    )
    faults: Faults = Field(default_factory=list, description="what goes wrong, and when")
    checks: list[Check] = Field(
        default_factory=list, description="programs of yours that compare what came out with an answer of their own"
    )
    capture: Strings = Field(
        default_factory=list, description="links whose packets are written to pcap files in captures/"
    )
    monitors: dict[str, Interval] = Field(
        default_factory=dict,
        description="the time between two looks of a monitor, or off, by its name; others look as often as usual",
        json_schema_extra=list_monitors,
    )
    expect: Strings = Field(default_factory=list, description="what the verdict judges, like: lost == 0")

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

    @property
    def uses_rabbitmq(self) -> bool:
        """Whether its brokers are RabbitMQ."""
        return any(broker.type == "rabbitmq" for broker in self.brokers)

    def components(self) -> list[tuple[str, Component]]:
        """Every component with its kind, in the order in which kinds start."""
        return [(kind, component) for group, kind in GROUPS.items() for component in getattr(self, group)]


def _with_name(part: Any, name: str) -> Any:
    """The part with this name if it had none.

    It is a copy, because the same object may be part of two experiments.
    """
    return part if part.name else part.model_copy(update={"name": name})
