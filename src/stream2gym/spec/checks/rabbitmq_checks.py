"""Checks of experiments whose brokers are RabbitMQ, and that others have none of its settings.

What works on Kafka's logs only is refused by name, so that nothing is left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.kinds.conditions import RoleCondition, parse_condition
from stream2gym.kinds.registry import registry
from stream2gym.kinds.targets import parse_target
from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding, brief
from stream2gym.spec.model.components import Consumer, Producer, Topic

CAPABILITY = "rabbitmq"
QUORUM_OR_CLASSIC = "queue: quorum or classic"
_OF_KAFKA_PRODUCERS = (
    "linger", "batch", "buffer", "request_timeout", "idempotence", "transactions",
)  # fmt: skip
_OF_KAFKA_CONSUMERS = ("fetch_min", "fetch_wait", "session_timeout")
_CLIENT_SETTINGS = {"producer": ("heartbeat",), "consumer": ("heartbeat", "prefetch_count")}
_ROLES = ("leader", "follower", "controller", "coordinator")
LONGEST_KEY_BYTES = 255


def check_rabbitmq(index: ExperimentIndex) -> Iterator[Finding]:
    """Check everything that is different with RabbitMQ."""
    if index.experiment.uses_rabbitmq:
        yield from _check_brokers(index)
        yield from _check_topics(index)
        yield from _check_producers(index)
        yield from _check_consumers(index)
        yield from _check_readers(index)
        yield from _check_faults(index)
    else:
        yield from _check_kafka_only(index)


def _check_kafka_only(index: ExperimentIndex) -> Iterator[Finding]:
    """Settings of RabbitMQ in an experiment with Kafka."""
    for number, broker in enumerate(index.experiment.brokers):
        if broker.partition_handling is not None:
            path = ("brokers", number, "partition_handling")
            yield Finding(path, "only brokers of type rabbitmq handle partitions", "type: rabbitmq")
    for number, topic in enumerate(index.experiment.topics):
        if topic.queue is not None:
            what = f"topic {topic.name} asks for a {topic.queue} queue, which Kafka has not"
            yield Finding(("topics", number, "queue"), what, "brokers: [{on: h1, type: rabbitmq}]")


def _check_brokers(index: ExperimentIndex) -> Iterator[Finding]:
    brokers = [broker for broker in index.experiment.brokers if broker.type == "rabbitmq"]
    for number, broker in enumerate(index.experiment.brokers):
        if broker.controller is not None and broker.type == "rabbitmq":
            yield Finding(("brokers", number, "controller"), "RabbitMQ has no controllers", "leave it out")
    if len({broker.partition_handling or "ignore" for broker in brokers}) > 1:
        what = "the nodes of one cluster handle partitions in different ways"
        yield Finding(("brokers",), what, "the same partition_handling for all")


def _check_topics(index: ExperimentIndex) -> Iterator[Finding]:
    for number, topic in enumerate(index.experiment.topics):
        path: DataPath = ("topics", number)
        if topic.partitions > 1:
            yield Finding((*path, "partitions"), "a queue of RabbitMQ has no partitions", "leave it out")
        yield from _check_arguments(path, topic)
        if topic.queue == "stream":
            yield from _check_stream_groups(index, topic)


def _check_arguments(path: DataPath, topic: Topic) -> Iterator[Finding]:
    for key in topic.config:
        if not key.startswith("x-"):
            what = f"{brief(key)} is no argument of a queue"
            yield Finding((*path, "config", key), what, "arguments begin with x-, like x-max-length")


def _check_stream_groups(index: ExperimentIndex, topic: Topic) -> Iterator[Finding]:
    """Everybody who reads a stream gets every message, so that members of a group cannot share it."""
    members: dict[str, int] = {}
    for number, consumer in enumerate(index.experiment.consumers):
        if consumer.group is None or consumer.app is not None or topic.name not in consumer.topics:
            continue
        members[consumer.group] = members.get(consumer.group, 0) + consumer.instances
        if members[consumer.group] > 1:
            what = f"the members of group {consumer.group} cannot share the stream {topic.name}"
            yield Finding(("consumers", number), what, f"one consumer, or {QUORUM_OR_CLASSIC} for the topic")


def _check_producers(index: ExperimentIndex) -> Iterator[Finding]:
    for number, producer in enumerate(index.experiment.producers):
        path: DataPath = ("producers", number)
        if producer.app is not None or producer.type == "CUSTOM":
            yield from _check_program(path, producer)
            continue
        for key in _OF_KAFKA_PRODUCERS:
            if getattr(producer, key) not in (None, False):
                yield _only_kafka((*path, key), key)
        if producer.compression != "none":
            yield _only_kafka((*path, "compression"), "compression")
        if producer.keys.value is not None and len(producer.keys.value.encode()) > LONGEST_KEY_BYTES:
            what = f"a key of RabbitMQ has at most {LONGEST_KEY_BYTES} bytes"
            yield Finding((*path, "keys", "value"), what)
        yield from _check_client_settings(path, "producer", producer)


def _check_consumers(index: ExperimentIndex) -> Iterator[Finding]:
    for number, consumer in enumerate(index.experiment.consumers):
        path: DataPath = ("consumers", number)
        if consumer.app is not None or consumer.type == "CUSTOM":
            yield from _check_program(path, consumer)
            continue
        for key in _OF_KAFKA_CONSUMERS:
            if getattr(consumer, key) is not None:
                yield _only_kafka((*path, key), key)
        if consumer.isolation != "read_uncommitted":
            yield _only_kafka((*path, "isolation"), "isolation")
        yield from _check_client_settings(path, "consumer", consumer)


def _check_program(path: DataPath, client: Producer | Consumer) -> Iterator[Finding]:
    if client.observe == "wire":
        yield Finding((*path, "observe"), "the packets of AMQP are not decoded", "leave it out")


def _check_client_settings(path: DataPath, kind: str, client: Producer | Consumer) -> Iterator[Finding]:
    known = _CLIENT_SETTINGS[kind]
    for key, value in client.client.items():
        if key not in known:
            yield Finding((*path, "client", key), f"{brief(key)} is no setting of the AMQP client", ", ".join(known))
        elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
            yield Finding((*path, "client", key), f"{brief(str(value))} is no whole number above 0")


def _check_readers(index: ExperimentIndex) -> Iterator[Finding]:
    """Engines, sinks, traces and checks, which read Kafka's topics."""
    for number, engine in enumerate(index.experiment.engines):
        kind = registry("engine").find(engine.type)
        if kind is not None and CAPABILITY not in kind.capabilities:
            what = f"the engine {engine.name} of type {engine.type} cannot read from RabbitMQ"
            yield Finding(("engines", number), what, "brokers of type kafka")
    for number, sink in enumerate(index.experiment.sinks):
        yield Finding(("sinks", number), f"the sink {sink.name} cannot read from RabbitMQ", "brokers of type kafka")
    for number, trace in enumerate(index.experiment.trace):
        what = f"the trace from {trace.from_} to {trace.to} follows an engine, and none reads from RabbitMQ"
        yield Finding(("trace", number), what, "brokers of type kafka")
    for number, check in enumerate(index.experiment.checks):
        what = f"the check {check.name} needs the contents of topics, and RabbitMQ's queues do not keep them"
        yield Finding(("checks", number), what, "brokers of type kafka")


def _check_faults(index: ExperimentIndex) -> Iterator[Finding]:
    several = len(index.experiment.brokers) > 1
    brokers = {str(broker.name) for broker in index.experiment.brokers}
    for number, fault in enumerate(index.experiment.faults):
        path: DataPath = ("faults", number)
        kind = registry("fault").find(fault.do)
        if kind is not None and kind.targets == frozenset(("topic",)):
            yield Finding((*path, "do"), f"the fault {fault.do} acts on Kafka's logs", "brokers of type kafka")
            continue
        for text in fault.on:
            if _names_role(text):
                what = f"who is {brief(text)} is not known with RabbitMQ"
                yield Finding((*path, "on"), what, f"the name of a broker: {', '.join(sorted(brokers))}")
        if fault.when is not None and _asks_for_role(fault.when):
            yield Finding(
                (*path, "when"), f"{brief(fault.when)}: RabbitMQ does not tell who has a role", "lag > 5000"
            )
        if several and fault.settings.get("data") == "wipe":
            what = "a node that lost its data is not taken back by the others of a RabbitMQ cluster"
            yield Finding((*path, "data"), what, "data: keep")


def _names_role(text: str) -> bool:
    try:
        target = parse_target(text)
    except ValueError:  # told elsewhere
        return False
    return target.form in _ROLES or (target.among is not None and target.among.form in _ROLES)


def _asks_for_role(text: str) -> bool:
    try:
        return isinstance(parse_condition(text), RoleCondition)
    except ValueError:  # told elsewhere
        return False


def _only_kafka(path: DataPath, key: str) -> Finding:
    return Finding(path, f"{key} is a setting of Kafka's client", "leave it out with RabbitMQ")
