"""The components of an experiment: brokers, producers, consumers, engines, stores, sinks and sources."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from stream2gym.kinds.settings import (
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
    known_ignoring_case,
)
from stream2gym.spec.model.copies import MOST_COPIES
from stream2gym.spec.model.kind_settings import HasKindSettings
from stream2gym.spec.model.traffic import Arrivals, Imperfect, Keys, Sizes
from stream2gym.units import Duration, Size

# Copies are written out before an item becomes a model, so that no model has any.
Copies = Annotated[Whole, Field(ge=1, le=MOST_COPIES)] | None
_COPIES = "how many of these there are; {n} in any text is the number of each, and its name ends in it"


class Restart(Model):
    """How often a component that died is started again, and after how long."""

    SHORT = ({"type": "integer"},)

    times: Whole = Field(default=0, ge=0, description="how often it is started again")
    delay: Duration = Field(default=Duration(1.0), description="how long after its death")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"times": value} if isinstance(value, int) and not isinstance(value, bool) else value


class Component(Model):
    """One piece of real software on a host. Without ``on`` the plan chooses the host."""

    name: Name | None = Field(default=None, description="what events, logs, faults and expectations call it")
    on: Name | None = Field(default=None, description="its host; without it the plan places it")
    restart: Restart = Field(
        default_factory=Restart, description="how often it is started again after it died, or {times, delay}"
    )
    copies: Copies = Field(default=None, description=_COPIES)


class Broker(Component):
    """A message broker.

    ``controller: only`` is a controller without a broker. Without ``controller`` it votes only if no broker says
    ``true`` or ``only``.
    """

    type: Annotated[Literal["kafka", "rabbitmq"], known_ignoring_case("kafka", "rabbitmq")] = Field(
        default="kafka", description="which message broker"
    )
    controller: bool | Literal["only"] | None = Field(
        default=None, description="true: votes as a controller; only: is nothing else; false: never"
    )
    partition_handling: Literal["ignore", "pause_minority", "autoheal"] | None = Field(
        default=None, description="rabbitmq: what nodes do that were cut off from each other; default: ignore"
    )
    config: Properties = Field(default_factory=dict, description="any property of the software, passed on as it is")


class Kafka(Model):
    """Settings of all brokers."""

    version: Text = Field(default="4.3.1", description="3.9 or later; fetched when it is not there")
    java: str | None = Field(default=None, description="another Java, 17 or later")
    voters: Literal[1, 3, 5] = Field(default=3, description="how many controllers vote: 1, 3 or 5")
    heap: Size = Field(default=Size(256 * 1024**2), description="largest heap of each broker")
    config: Properties = Field(default_factory=dict, description="any broker property, for all brokers")
    stop: Literal["kill", "orderly"] = Field(
        default="kill", description="kill: brokers end with the run; orderly: they are asked to stop"
    )


class Topic(Model):
    """A topic. It is created before engines and clients start."""

    SHORT = (TEXT,)

    name: TopicName = Field(description="its name")
    partitions: Whole = Field(default=1, ge=1, le=100_000, description="how many partitions")
    replicas: Whole = Field(default=1, ge=1, le=1000, description="how many brokers hold each partition")
    leader: str | None = Field(default=None, description="preferred leader: a host or a broker")
    via: str | None = Field(
        default=None, description="the broker that is asked to make it and that its clients start from"
    )
    queue: Literal["quorum", "classic", "stream"] | None = Field(
        default=None, description="rabbitmq: what holds its messages; default: quorum"
    )
    config: Properties = Field(default_factory=dict, description="any topic property")
    copies: Copies = Field(default=None, description=_COPIES)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class WeightedTopic(Model):
    """One of several topics of a producer, and how often it is chosen."""

    SHORT = (TEXT,)

    name: str = Field(description="a topic")
    weight: float = Field(default=1.0, gt=0, description="how often it is chosen, against the others")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


WeightedTopics = Annotated[
    list[WeightedTopic], BeforeValidator(as_list, json_schema_input_type=list[WeightedTopic] | str)
]


class ProducerOrConsumer(Component):
    """What producers and consumers share: how their processes run, and how a program of the user's is observed."""

    python: str | None = Field(
        default=None, description="the Python that runs the program: a path, or a name on the PATH"
    )
    args: Texts = Field(default_factory=list, description="arguments of the program")
    env: dict[str, Text] = Field(default_factory=dict, description="environment variables of the program")
    observe: bool | Literal["wire"] = Field(
        default=True, description="true: a Python program is recorded from inside; wire: any from its packets; false"
    )
    header: bool = Field(default=True, description="whether messages of a recorded program get the header s2g")
    grace: Duration | None = Field(
        default=None,
        description="how long the program may take to end by itself before it is asked to; default: 10 s",
    )
    instances: Whole = Field(default=1, ge=1, le=10_000, description="how many processes")


class Producer(ProducerOrConsumer):
    """Sends messages: one of the published types, or a program of the user's."""

    type: Annotated[
        Literal["SFST", "MFST", "ELTT", "STANDARD", "CUSTOM"],
        known_ignoring_case("SFST", "MFST", "ELTT", "STANDARD", "CUSTOM"),
    ] = Field(
        default="STANDARD",
        description="STANDARD generates, SFST sends a file, MFST a folder, ELTT lines of a file; CUSTOM is yours",
    )
    topic: str | None = Field(default=None, description="where messages go")
    topics: WeightedTopics = Field(default_factory=list, description="several topics, with weights or without")
    file: str | None = Field(default=None, description="a file for SFST and ELTT, a folder for MFST")
    app: str | None = Field(
        default=None,
        description="a program of yours, for CUSTOM or to replace the built-in client; relative to this file",
    )
    rate: AnyRate = Field(
        default=None, description="messages a second (1000/s) or bytes (30 KB/s); without it as fast as it goes"
    )
    arrivals: Arrivals = Field(
        default_factory=Arrivals, description="when messages are due: constant, poisson, bursts, or a trace"
    )
    size: Sizes | None = Field(default=None, description="size of messages: 25 B, or a distribution")
    keys: Keys = Field(
        default_factory=Keys, description="keys of messages: how many different ones, or a distribution"
    )
    messages: Whole | None = Field(default=None, ge=0, description="it ends after this many messages")
    passes: Whole | None = Field(default=None, ge=0, description="it ends after this many passes over its file")
    duration: Duration | None = Field(default=None, description="it ends after this time")
    acks: Literal[0, 1, "all"] = Field(
        default=1, description="who must have a message before it is acknowledged: 0, 1, all"
    )
    linger: Duration | None = Field(default=None, description="how long a batch waits to fill")
    batch: Size | None = Field(default=None, description="largest batch")
    buffer: Size | None = Field(default=None, description="memory for messages that wait")
    request_timeout: Duration | None = Field(default=None, description="how long a broker may take to answer")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field(
        default="none", description="compression of batches"
    )
    idempotence: bool | None = Field(default=None, description="retries never duplicate a message; needs acks: all")
    transactions: Whole | None = Field(default=None, ge=1, description="messages a transaction; needs acks: all")
    imperfect: Imperfect | None = Field(
        default=None, description="shares of events that are late, out of order, duplicated, missing or noisy"
    )
    client: Properties = Field(
        default_factory=dict, description="any property of the Kafka client, passed on as it is"
    )

    @property
    def sends_warmup(self) -> bool:
        """Whether it sends warm-up messages: a built-in producer that sends anything. A program begins at t0."""
        return self.app is None and self.type != "CUSTOM" and self.messages != 0 and self.passes != 0

    def topic_names(self) -> list[str]:
        """Every topic that the producer sends to."""
        return ([self.topic] if self.topic else []) + [topic.name for topic in self.topics]


class Consumer(ProducerOrConsumer):
    """Receives messages. Without ``group`` every instance is a group of its own and gets every message."""

    type: Annotated[Literal["STANDARD", "CUSTOM"], known_ignoring_case("STANDARD", "CUSTOM")] = Field(
        default="STANDARD", description="STANDARD records what it reads; CUSTOM is your program"
    )
    topics: Strings = Field(default_factory=list, description="what it reads")
    pattern: str | None = Field(default=None, description="a regular expression of topics that it reads")
    group: str | None = Field(default=None, description="its group; without one every instance gets every message")
    from_: Literal["earliest", "latest"] = Field(
        default="earliest", alias="from", description="where it begins without a committed offset"
    )
    isolation: Literal["read_committed", "read_uncommitted"] = Field(
        default="read_uncommitted", description="whether it sees messages of open transactions"
    )
    commit: Literal["auto", "before", "after"] = Field(default="auto", description="when offsets are committed")
    app: str | None = Field(default=None, description="a program of yours; its path is relative to this file")
    fetch_min: Size | None = Field(default=None, description="how many bytes a fetch waits for")
    fetch_wait: Duration | None = Field(default=None, description="how long a fetch waits")
    session_timeout: Duration | None = Field(
        default=None, description="how long it may be silent before its group goes on without it"
    )
    work: Duration = Field(
        default=Duration(0.0), description="time spent on each message before it counts as received"
    )
    client: Properties = Field(
        default_factory=dict, description="any property of the Kafka client, passed on as it is"
    )


class Engine(Component, HasKindSettings):
    """A stream processing engine. Further keys belong to its type."""

    FAMILY = "engine"

    type: str = Field(default="spark", description="which engine")
    app: str | None = Field(default=None, description="a program of yours; its path is relative to this file")
    args: Texts = Field(default_factory=list, description="arguments of the program")
    env: dict[str, Text] = Field(default_factory=dict, description="environment variables of the program")
    config: Properties = Field(default_factory=dict, description="any property of the engine")
    observe: bool | Literal["wire"] = Field(
        default=False, description="wire: what it sends to Kafka and fetches is recorded from its packets; false"
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="the keys of its type; they may also stand beside the others"
    )

    @property
    def kind_name(self) -> str:
        return self.type


class Store(Component, HasKindSettings):
    """A database. Further keys belong to its type."""

    FAMILY = "store"

    type: str = Field(default="mysql", description="which database")
    config: Properties = Field(default_factory=dict, description="any property of the software, passed on as it is")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="the keys of its type; they may also stand beside the others"
    )

    @property
    def kind_name(self) -> str:
        return self.type


class Sink(Component):
    """Writes topics into a table of a store.

    The keys of rows come from the value, the key or the place of a message.
    """

    topics: Strings = Field(default_factory=list, description="what it moves")
    pattern: str | None = Field(default=None, description="a regular expression of topics that it moves")
    store: str = Field(description="name of the store")
    table: str | None = Field(default=None, description="where rows go")
    keys: Strings = Field(default_factory=list, description="fields that tell rows apart")
    keys_from: Literal["value", "key", "place"] = Field(
        default="value", description="where the values of the keys come from"
    )
    mode: Literal["insert", "upsert"] | None = Field(
        default=None,
        description="add rows, or replace those with the same keys; default: upsert where the value has keys",
    )
    create: bool = Field(default=True, description="whether a table that is missing is made")
    batch: Whole = Field(default=500, ge=1, description="most rows in one transaction")
    answer_timeout: Duration = Field(
        default=Duration(30.0),
        gt=0,
        description="how long the store may take to answer before the connection counts as lost",
    )
    config: Properties = Field(default_factory=dict, description="any property of the software, passed on as it is")


class Source(Component):
    """Serves lines on a socket, from a file or generated, at a rate."""

    type: Literal["socket"] = Field(default="socket", description="how it serves lines")
    port: Whole = Field(default=9999, ge=1, le=65535, description="port that it listens on")
    file: str | None = Field(default=None, description="a file whose lines are served")
    lines: Whole | None = Field(default=None, ge=1, description="how many lines are generated instead")
    rate: AnyRate = Field(default=None, description="lines a second")
