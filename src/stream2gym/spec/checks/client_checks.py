"""Checks of producers, consumers and socket sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding, brief
from stream2gym.spec.model.components import Consumer, Producer

_WITH_FILE = ("SFST", "MFST", "ELTT")


def check_producers(index: ExperimentIndex) -> Iterator[Finding]:
    """Check topics, files, load and brokers of every producer."""
    for number, producer in enumerate(index.experiment.producers):
        path: DataPath = ("producers", number)
        yield from _topics_of(index, path, producer)
        yield from _files_of(index, path, producer)
        yield from _load_of(path, producer)
        yield from _needs_broker(index, path, producer)


def _topics_of(index: ExperimentIndex, path: DataPath, producer: Producer) -> Iterator[Finding]:
    """Check that the topics of a producer exist."""
    if producer.topic is not None and producer.topics:
        yield Finding(path, "gives both topic and topics", "keep one")
    if producer.topic is not None:
        yield from index.topic((*path, "topic"), producer.topic)
    for number, topic in enumerate(producer.topics):
        yield from index.topic((*path, "topics", number), topic.name)
    if producer.type != "CUSTOM" and not producer.topic_names():
        yield Finding(path, f"a producer of type {producer.type} needs a topic", "topic: NAME")


def _files_of(index: ExperimentIndex, path: DataPath, producer: Producer) -> Iterator[Finding]:
    """Check that a producer has the files and the program that its type needs."""
    if producer.type in _WITH_FILE:
        folder = producer.type == "MFST"
        if producer.file is None:
            what = f"a producer of type {producer.type} needs a {'folder' if folder else 'file'}"
            yield Finding(path, what, "file: data/" if folder else "file: data.txt")
        else:
            yield from index.file((*path, "file"), producer.file, folder=folder)
    elif producer.file is not None and (producer.app is None or producer.type == "CUSTOM"):
        what = f"a producer of type {producer.type} reads no file"
        yield Finding((*path, "file"), what, f"type: one of {', '.join(_WITH_FILE)}")
    yield from _check_program(index, path, producer)
    if producer.arrivals.file is not None:
        yield from index.file((*path, "arrivals", "file"), producer.arrivals.file)


def _check_program(index: ExperimentIndex, path: DataPath, client: Producer | Consumer) -> Iterator[Finding]:
    """Check the program of a client, and that a built-in client has no settings of programs."""
    if client.type == "CUSTOM" and client.app is None:
        kind = type(client).__name__.lower()
        yield Finding(path, f"a {kind} of type CUSTOM needs a program", "app: program.py")
    if client.app is not None:
        yield from index.program(path, client.app, client.python)
    yield from _check_observation(path, client)
    yield from _grace_of(path, client)


def _grace_of(path: DataPath, client: Producer | Consumer) -> Iterator[Finding]:
    """Check that only a program of the user's has a grace period."""
    if client.app is None and client.grace is not None:
        yield Finding((*path, "grace"), "only a program of yours has a grace period", "app: program.py")


def _load_of(path: DataPath, producer: Producer) -> Iterator[Finding]:
    """Check that the keys of a producer's load fit together."""
    arrivals, size = producer.arrivals, producer.size
    if producer.rate is not None and not producer.rate:
        yield Finding((*path, "rate"), "a rate of 0 sends nothing", "leave it out to send without pause")
    if arrivals.kind == "bursts" and not (arrivals.on and arrivals.off):
        yield Finding((*path, "arrivals"), "bursts need 'on' and 'off'", "{kind: bursts, on: 1 s, off: 4 s}")
    if arrivals.kind == "trace" and arrivals.file is None:
        yield Finding((*path, "arrivals"), "a trace needs a file", "{kind: trace, file: times.txt}")
    if arrivals.kind in ("poisson", "bursts") and producer.rate is None:
        yield Finding((*path, "arrivals"), f"arrivals {arrivals.kind} need a rate", "rate: 100/s")
    if size is not None:
        if size.kind == "uniform" and (size.low is None or size.high is None or size.low > size.high):
            yield Finding(
                (*path, "size"),
                "uniform sizes need 'low' and 'high'",
                "{kind: uniform, low: 1 B, high: 1 kB}",
            )
        if size.kind in ("normal", "pareto", "fixed") and size.mean is None:
            yield Finding((*path, "size"), f"{size.kind} sizes need 'mean'", f"{{kind: {size.kind}, mean: 1 kB}}")
    if producer.keys.kind == "fixed" and producer.keys.value is None:
        yield Finding((*path, "keys"), "a fixed key needs 'value'", "{kind: fixed, value: k}")
    safe = producer.idempotence or producer.transactions
    if safe and producer.acks != "all":
        yield Finding((*path, "acks"), "idempotence and transactions need acks from all", "acks: all")
    if producer.transactions and producer.idempotence is False:
        yield Finding((*path, "idempotence"), "transactions need idempotence", "idempotence: true")
    if producer.passes is not None and producer.type != "ELTT":
        yield Finding((*path, "passes"), "only a producer of type ELTT makes passes", "messages: N")


def _check_observation(path: DataPath, client: Producer | Consumer) -> Iterator[Finding]:
    """Check that only programs are observed in another way, or run without header: built-in clients never are."""
    if client.app is None and client.observe is not True:
        yield Finding((*path, "observe"), "the built-in client records by itself", "leave it out, or app: program.py")
    if client.app is None and not client.header:
        yield Finding((*path, "header"), "only a program can have header: false", "leave it out, or app: program.py")


def _needs_broker(index: ExperimentIndex, path: DataPath, client: Producer | Consumer) -> Iterator[Finding]:
    """Check that there is a broker for the client."""
    if client.type != "CUSTOM" and not index.experiment.brokers and not index.lost("brokers"):
        yield Finding(path, "there is no broker to talk to", "brokers: [{on: h1}]")


def check_consumers(index: ExperimentIndex) -> Iterator[Finding]:
    """Check topics, program and brokers of every consumer."""
    for number, consumer in enumerate(index.experiment.consumers):
        path: DataPath = ("consumers", number)
        for position, topic in enumerate(consumer.topics):
            yield from index.topic((*path, "topics", position), topic)
        if consumer.topics and consumer.pattern is not None:
            yield Finding(path, "gives both topics and a pattern", "keep one")
        if consumer.type == "STANDARD" and not consumer.topics and consumer.pattern is None:
            yield Finding(path, "a consumer of type STANDARD needs topics or a pattern", "topics: [NAME]")
        yield from _check_program(index, path, consumer)
        yield from check_regular_expression((*path, "pattern"), consumer.pattern)
        yield from _needs_broker(index, path, consumer)


def check_regular_expression(path: DataPath, pattern: str | None) -> Iterator[Finding]:
    """Check that the pattern is a regular expression."""
    try:
        re.compile(pattern or "")
    except (re.error, OverflowError, RecursionError) as error:
        yield Finding(path, f"{brief(pattern)} is not a regular expression: {error}")


def check_sources(index: ExperimentIndex) -> Iterator[Finding]:
    """Check that every source has either a file or a number of lines."""
    for number, source in enumerate(index.experiment.sources):
        path: DataPath = ("sources", number)
        if (source.file is None) == (source.lines is None):
            yield Finding(path, "serves either a file or a number of generated lines", "file: lines.txt")
        if source.file is not None:
            yield from index.file((*path, "file"), source.file)
