"""The experiment: what the user said, checked. All three doors (GraphML, YAML, Python) lead here.

Shapes that people write short ("h1", "h1 -- s1: 5 ms") are widened by validators, so that constructors in
Python and keys in YAML have the same names and the same freedom.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from stream2gym.link import Bursts, JitterShape, LinkSettings
from stream2gym.spec.links import link_from_text
from stream2gym.units import Bandwidth, ByteRate, Duration, Quantity, Rate, Share, Size

Properties = dict[str, str | int | float | bool]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=63)]


class Model(BaseModel):
    """Base of every part of the experiment: unknown keys are errors, aliases and names both work."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, validate_default=False)


# ---- topology


class Host(Model):
    name: Name
    cpu: Share | None = None
    memory: Size | None = None
    disk: Size | None = None
    address: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Switch(Model):
    name: Name

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Jitter(Model):
    amount: Duration
    shape: JitterShape = "normal"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Jitter) else {"amount": value}


class BurstLoss(Model):
    """Gilbert-Elliott: shares of packets that change from good to bad and back, and that are lost in each."""

    to_bad: Share
    to_good: Share
    loss_bad: Share = Share(1.0)
    loss_good: Share = Share(0.0)


class Queue(Model):
    packets: int | None = Field(default=None, ge=1)
    bytes: Size | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return {"packets": value}
        if isinstance(value, str):
            number, _, unit = value.strip().partition(" ")
            if unit.strip() in ("packets", "packet", "pkts", "p", "") and number.isdigit():
                return {"packets": int(number)}
            return {"bytes": value}
        return value


class LinkChange(Model):
    """Settings of a link, or of one direction of it; what is not given stays as it is."""

    latency: Duration | None = None
    jitter: Jitter | None = None
    bandwidth: Bandwidth | None = None
    loss: Share | BurstLoss | None = None
    duplicate: Share | None = None
    reorder: Share | None = None
    corrupt: Share | None = None
    queue: Queue | None = None
    mtu: int | None = Field(default=None, ge=576, le=65535)
    up: bool | None = None

    def apply(self, base: LinkSettings) -> LinkSettings:
        """The settings that ``base`` becomes under this change."""
        values = {name: getattr(base, name) for name in LinkSettings.__dataclass_fields__}
        if self.latency is not None:
            values["latency_ms"] = self.latency.in_ms
        if self.jitter is not None:
            values |= {"jitter_ms": self.jitter.amount.in_ms, "jitter_shape": self.jitter.shape}
        if self.bandwidth is not None:
            values["bandwidth_bps"] = None if math.isinf(self.bandwidth) else float(self.bandwidth)
        if isinstance(self.loss, BurstLoss):
            values |= {"loss": 0.0, "bursts": Bursts(**{k: float(v) for k, v in self.loss})}
        elif self.loss is not None:
            values |= {"loss": float(self.loss), "bursts": None}
        for name in ("duplicate", "reorder", "corrupt"):
            share = getattr(self, name)
            if share is not None:
                values[name] = float(share)
        if self.queue is not None:
            size = self.queue.bytes
            values |= {
                "queue_packets": self.queue.packets,
                "queue_bytes": None if size is None else int(size),
            }
        for name in ("mtu", "up"):
            plain = getattr(self, name)
            if plain is not None:
                values[name] = plain
        return LinkSettings(**values)


DEFAULT_LINK = LinkSettings(latency_ms=1.0, bandwidth_bps=1e9)


class Link(LinkChange):
    """A link. What is not said is as published: 1 ms each way, 1 Gbps."""

    between: tuple[Name, Name]
    ports: tuple[int | None, int | None] = (None, None)
    forward: LinkChange | None = None
    backward: LinkChange | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return link_from_text(value) if isinstance(value, str) else value

    @property
    def name(self) -> str:
        return f"{self.between[0]} -- {self.between[1]}"

    def settings(self) -> tuple[LinkSettings, LinkSettings]:
        """Forward (first to second node) and backward settings."""
        both = self.apply(DEFAULT_LINK)
        return (
            self.forward.apply(both) if self.forward else both,
            self.backward.apply(both) if self.backward else both,
        )


class Routing(Model):
    by: Literal["hops", "latency", "widest", "ecmp", "given"] = "hops"
    reconverge: Duration | Literal["never"] = "never"
    paths: dict[str, list[Name]] = Field(default_factory=dict)  # "h1 -> h3": nodes between or including them


class Topology(Model):
    hosts: list[Host] = Field(default_factory=list)
    switches: list[Switch] = Field(default_factory=list)
    links: list[Link] = Field(default_factory=list)
    routing: Routing = Field(default_factory=Routing)


# ---- components


class Restart(Model):
    """How often a component that died is started again, and after how long."""

    times: int = Field(default=0, ge=0)
    delay: Duration = Duration(1.0)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"times": value} if isinstance(value, int) and not isinstance(value, bool) else value


class Component(Model):
    """One piece of real software on a host; without ``on`` the plan places it."""

    name: Name | None = None
    on: Name | None = None
    restart: Restart = Field(default_factory=Restart)


class Broker(Component):
    type: Literal["kafka", "rabbitmq"] = "kafka"
    controller: bool | None = None
    config: Properties = Field(default_factory=dict)


class Kafka(Model):
    """What holds for every broker."""

    version: str = "4.3.1"
    java: str | None = None
    voters: Literal[1, 3, 5] = 3
    heap: Size = Size(256 * 1024**2)
    config: Properties = Field(default_factory=dict)
    stop: Literal["kill", "orderly"] = "kill"


class Topic(Model):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
    partitions: int = Field(default=1, ge=1, le=100_000)
    replicas: int = Field(default=1, ge=1, le=1000)
    leader: str | None = None  # a host or a broker's name
    via: str | None = None  # host asked to make it, bootstrap server of its clients (published topicBroker)
    config: Properties = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class WeightedTopic(Model):
    name: str
    weight: float = Field(default=1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


def _rate(value: Any) -> Any:
    """A rate of messages, or of bytes when the unit says so."""
    if isinstance(value, Quantity):
        return value
    try:
        return Rate.parse(value)
    except ValueError as not_messages:
        try:
            return ByteRate.parse(value)
        except ValueError:
            raise not_messages from None


class Arrivals(Model):
    """When messages are due: evenly, as a Poisson process, in bursts, or as a recorded trace says."""

    kind: Literal["constant", "poisson", "bursts", "trace"] = "constant"
    on: Duration | None = None  # bursts: length of a burst
    off: Duration | None = None  # bursts: pause between bursts
    file: str | None = None  # trace: a file with a time stamp a line
    speed: float = Field(default=1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


class Sizes(Model):
    """Payload sizes: fixed, or drawn from a distribution."""

    kind: Literal["fixed", "uniform", "normal", "pareto"] = "fixed"
    mean: Size | None = None
    low: Size | None = None
    high: Size | None = None
    deviation: Size | None = None
    shape: float = Field(default=1.5, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Sizes) else {"kind": "fixed", "mean": value}


class Keys(Model):
    """Record keys: none, a fixed number of them (uniform or Zipf), or one a message."""

    kind: Literal["none", "uniform", "zipf", "sequence", "fixed"] = "none"
    count: int = Field(default=100, ge=1)
    skew: float = Field(default=1.1, gt=0)
    value: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, int) and not isinstance(value, bool):
            return {"kind": "uniform", "count": value}
        return value


class Imperfect(Model):
    """A source that is not clean: shares of events late, out of order, doubled, missing, noisy."""

    late: Share = Share(0)
    late_by: Duration = Duration(5.0)
    disordered: Share = Share(0)
    disordered_by: int = Field(default=10, ge=1)
    duplicated: Share = Share(0)
    missing: Share = Share(0)
    noisy: Share = Share(0)


class Producer(Component):
    type: Literal["SFST", "MFST", "ELTT", "STANDARD", "CUSTOM"] = "STANDARD"
    topic: str | None = None
    topics: list[WeightedTopic] = Field(default_factory=list)
    file: str | None = None
    app: str | None = None  # CUSTOM, or a program in place of the built-in client
    python: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    instances: int = Field(default=1, ge=1)
    rate: Annotated[Rate | ByteRate | None, BeforeValidator(_rate)] = None
    arrivals: Arrivals = Field(default_factory=Arrivals)
    size: Sizes | None = None
    keys: Keys = Field(default_factory=Keys)
    messages: int | None = Field(default=None, ge=0)
    passes: int | None = Field(default=None, ge=1)
    duration: Duration | None = None
    acks: Literal[0, 1, "all"] = 1
    linger: Duration | None = None
    batch: Size | None = None
    buffer: Size | None = None
    request_timeout: Duration | None = None
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    idempotence: bool | None = None
    transactions: int | None = Field(default=None, ge=1)  # messages a transaction
    imperfect: Imperfect | None = None
    client: Properties = Field(default_factory=dict)


class Consumer(Component):
    type: Literal["STANDARD", "CUSTOM"] = "STANDARD"
    topics: list[str] = Field(default_factory=list)
    pattern: str | None = None
    group: str | None = None
    from_: Literal["earliest", "latest"] = Field(default="earliest", alias="from")
    isolation: Literal["read_committed", "read_uncommitted"] = "read_uncommitted"
    commit: Literal["auto", "before", "after"] = "auto"
    app: str | None = None
    python: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    instances: int = Field(default=1, ge=1)
    fetch_min: Size | None = None
    fetch_wait: Duration | None = None
    session_timeout: Duration | None = None
    client: Properties = Field(default_factory=dict)


class Engine(Component):
    """A stream processing engine; keys beyond these belong to its type."""

    type: str = "spark"
    app: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    config: Properties = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)  # of the type, checked by it


class Store(Component):
    type: str = "mysql"
    config: Properties = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)


class Sink(Component):
    """Moves a topic straight into a table of a store."""

    topics: list[str] = Field(default_factory=list)
    pattern: str | None = None
    store: str
    table: str | None = None
    keys: list[str] = Field(default_factory=list)
    create: bool = True
    config: Properties = Field(default_factory=dict)


class Source(Component):
    """Serves lines on a socket: a file, or generated ones, at a rate."""

    type: Literal["socket"] = "socket"
    port: int = Field(default=9999, ge=1, le=65535)
    file: str | None = None
    lines: int | None = Field(default=None, ge=1)
    rate: Annotated[Rate | None, BeforeValidator(lambda v: v if v is None else Rate.parse(v))] = None


# ---- placement, trace, faults, expectations


class Constraint(Model):
    """Exactly one of the three, naming components (globs allowed)."""

    colocate: list[str] | None = None
    exlocate: list[str] | None = None
    isolate: list[str] | None = None


class Placement(Model):
    by: Literal["round-robin", "random", "least-loaded", "nearest", "central"] = "round-robin"
    hosts: list[str] = Field(default_factory=list)  # where free components may go; empty: every host
    constraints: list[Constraint] = Field(default_factory=list)


class Trace(Model):
    """How a message of one topic is recognised in another after an engine has worked on it."""

    from_: str = Field(alias="from")
    to: str
    by: str = "header"  # header | key | value | json:$.path


class Fault(Model):
    """Something done to the network or a component at a time; keys beyond these belong to its kind."""

    name: Name | None = None
    do: str
    on: str | list[str] = Field(default_factory=list)
    at: Duration | Share | None = None
    for_: Duration | None = Field(default=None, alias="for")
    every: Duration | None = None
    until: Duration | None = None
    jitter: Duration | None = None
    within: tuple[Duration, Duration] | None = None
    when: str | None = None
    after: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)  # of the kind, checked by it


class Experiment(Model):
    s2g: Literal[1] = 1
    name: Name = "experiment"
    seed: int = Field(default=1, ge=0)
    topology: Topology = Field(default_factory=Topology)
    kafka: Kafka = Field(default_factory=Kafka)
    brokers: list[Broker] = Field(default_factory=list)
    topics: list[Topic] = Field(default_factory=list)
    producers: list[Producer] = Field(default_factory=list)
    consumers: list[Consumer] = Field(default_factory=list)
    engines: list[Engine] = Field(default_factory=list)
    stores: list[Store] = Field(default_factory=list)
    sinks: list[Sink] = Field(default_factory=list)
    sources: list[Source] = Field(default_factory=list)
    placement: Placement = Field(default_factory=Placement)
    trace: list[Trace] = Field(default_factory=list)
    time: Duration = Duration(10.0)
    drain: Duration = Duration(20.0)
    startup: Literal["fast", "as-configured"] = "fast"
    faults: list[Fault] = Field(default_factory=list)
    expect: list[str] = Field(default_factory=list)

    def components(self) -> list[tuple[str, Component]]:
        """Every component with its kind, in the order in which kinds start."""
        groups: list[tuple[str, list[Any]]] = [
            ("broker", self.brokers), ("store", self.stores), ("source", self.sources), ("sink", self.sinks),
            ("engine", self.engines), ("consumer", self.consumers), ("producer", self.producers),
        ]  # fmt: skip
        return [(kind, component) for kind, group in groups for component in group]
