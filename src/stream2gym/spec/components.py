"""The pieces of real software on hosts: brokers, producers, consumers, engines, stores, sinks, sources."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from stream2gym.kinds.base import (
    TEXT,
    AnyRate,
    Model,
    Name,
    Properties,
    Strings,
    Text,
    Texts,
    TopicName,
    Whole,
    as_list,
    inline_settings,
    known_ignoring_case,
)
from stream2gym.spec.traffic import Arrivals, Imperfect, Keys, Sizes
from stream2gym.units import Duration, Size


class Restart(Model):
    """How often a component that died is started again, and after how long."""

    SHORT = ({"type": "integer"},)

    times: Whole = Field(default=0, ge=0)
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
    """``controller: only`` is a controller on a host of its own; unsaid, it votes only where nobody else does."""

    type: Annotated[Literal["kafka", "rabbitmq"], known_ignoring_case("kafka", "rabbitmq")] = "kafka"
    controller: bool | Literal["only"] | None = None
    config: Properties = Field(default_factory=dict)


class Kafka(Model):
    """What holds for every broker."""

    version: Text = "4.3.1"
    java: str | None = None
    voters: Literal[1, 3, 5] = 3
    heap: Size = Size(256 * 1024**2)
    config: Properties = Field(default_factory=dict)
    stop: Literal["kill", "orderly"] = "kill"


class Topic(Model):
    """A topic, made before engines and clients start."""

    SHORT = (TEXT,)

    name: TopicName
    partitions: Whole = Field(default=1, ge=1, le=100_000)
    replicas: Whole = Field(default=1, ge=1, le=1000)
    leader: str | None = None  # a host or a broker's name
    via: str | None = None  # host asked to make it, bootstrap server of its clients (published topicBroker)
    config: Properties = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class WeightedTopic(Model):
    """A topic of a producer that has several, and how often it is chosen."""

    SHORT = (TEXT,)

    name: str
    weight: float = Field(default=1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


WeightedTopics = Annotated[
    list[WeightedTopic], BeforeValidator(as_list, json_schema_input_type=list[WeightedTopic] | str)
]


class Producer(Component):
    """Sends messages: a published type of source, or a program of the user's."""

    type: Annotated[
        Literal["SFST", "MFST", "ELTT", "STANDARD", "CUSTOM"],
        known_ignoring_case("SFST", "MFST", "ELTT", "STANDARD", "CUSTOM"),
    ] = "STANDARD"
    topic: str | None = None
    topics: WeightedTopics = Field(default_factory=list)
    file: str | None = None
    app: str | None = None  # CUSTOM, or a program in place of the built-in client
    python: str | None = None
    args: Texts = Field(default_factory=list)
    env: dict[str, Text] = Field(default_factory=dict)
    instances: Whole = Field(default=1, ge=1, le=10_000)
    rate: AnyRate = None
    arrivals: Arrivals = Field(default_factory=Arrivals)
    size: Sizes | None = None
    keys: Keys = Field(default_factory=Keys)
    messages: Whole | None = Field(default=None, ge=0)
    passes: Whole | None = Field(default=None, ge=0)
    duration: Duration | None = None
    acks: Literal[0, 1, "all"] = 1
    linger: Duration | None = None
    batch: Size | None = None
    buffer: Size | None = None
    request_timeout: Duration | None = None
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    idempotence: bool | None = None
    transactions: Whole | None = Field(default=None, ge=1)  # messages a transaction
    imperfect: Imperfect | None = None
    client: Properties = Field(default_factory=dict)

    def topic_names(self) -> list[str]:
        """Every topic it sends to."""
        return ([self.topic] if self.topic else []) + [topic.name for topic in self.topics]


class Consumer(Component):
    """Receives messages; without ``group`` every instance is a group of its own and gets every message."""

    type: Annotated[Literal["STANDARD", "CUSTOM"], known_ignoring_case("STANDARD", "CUSTOM")] = "STANDARD"
    topics: Strings = Field(default_factory=list)
    pattern: str | None = None
    group: str | None = None
    from_: Literal["earliest", "latest"] = Field(default="earliest", alias="from")
    isolation: Literal["read_committed", "read_uncommitted"] = "read_uncommitted"
    commit: Literal["auto", "before", "after"] = "auto"
    app: str | None = None
    python: str | None = None
    args: Texts = Field(default_factory=list)
    env: dict[str, Text] = Field(default_factory=dict)
    instances: Whole = Field(default=1, ge=1, le=10_000)
    fetch_min: Size | None = None
    fetch_wait: Duration | None = None
    session_timeout: Duration | None = None
    work: Duration = Duration(0.0)  # on each message, before it counts as received
    client: Properties = Field(default_factory=dict)


class Engine(Component):
    """A stream processing engine; keys beyond these belong to its type."""

    INLINE = True

    type: str = "spark"
    app: str | None = None
    args: Texts = Field(default_factory=list)
    env: dict[str, Text] = Field(default_factory=dict)
    config: Properties = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)  # of the type, checked by it

    @model_validator(mode="before")
    @classmethod
    def _inline(cls, value: Any) -> Any:
        return inline_settings(cls, value)


class Store(Component):
    """A database; keys beyond these belong to its type."""

    INLINE = True

    type: str = "mysql"
    config: Properties = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _inline(cls, value: Any) -> Any:
        return inline_settings(cls, value)


class Sink(Component):
    """Moves a topic straight into a table of a store. Keys of rows come from a message: its value, key or place."""

    topics: Strings = Field(default_factory=list)
    pattern: str | None = None
    store: str
    table: str | None = None
    keys: Strings = Field(default_factory=list)
    keys_from: Literal["value", "key", "place"] = "value"
    mode: Literal["insert", "upsert"] | None = None  # unsaid: upsert where the value has keys
    create: bool = True
    batch: Whole = Field(default=500, ge=1)  # rows a transaction, at most
    config: Properties = Field(default_factory=dict)


class Source(Component):
    """Serves lines on a socket: a file, or generated ones, at a rate."""

    type: Literal["socket"] = "socket"
    port: Whole = Field(default=9999, ge=1, le=65535)
    file: str | None = None
    lines: Whole | None = Field(default=None, ge=1)
    rate: AnyRate = None
