"""Checks of producers, consumers and socket sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stream2gym.spec.check_index import Index
from stream2gym.spec.components import Consumer, Producer
from stream2gym.spec.places import Finding, Place, brief

_WITH_FILE = ("SFST", "MFST", "ELTT")


def check_producers(index: Index) -> Iterator[Finding]:
    for number, producer in enumerate(index.experiment.producers):
        path: Place = ("producers", number)
        yield from _topics_of(index, path, producer)
        yield from _files_of(index, path, producer)
        yield from _load_of(path, producer)
        yield from _needs_broker(index, path, producer)


def _topics_of(index: Index, path: Place, producer: Producer) -> Iterator[Finding]:
    if producer.topic is not None and producer.topics:
        yield Finding(path, "gives both topic and topics", "keep one")
    if producer.topic is not None:
        yield from index.topic((*path, "topic"), producer.topic)
    for number, topic in enumerate(producer.topics):
        yield from index.topic((*path, "topics", number), topic.name)
    if producer.type != "CUSTOM" and not producer.topic_names():
        yield Finding(path, f"a producer of type {producer.type} needs a topic", "topic: NAME")


def _files_of(index: Index, path: Place, producer: Producer) -> Iterator[Finding]:
    if producer.type in _WITH_FILE:
        folder = producer.type == "MFST"
        if producer.file is None:
            what = f"a producer of type {producer.type} needs a {'folder' if folder else 'file'}"
            yield Finding(path, what, "file: data/" if folder else "file: data.txt")
        else:
            yield from index.file((*path, "file"), producer.file, folder=folder)
    elif producer.file is not None:
        what = f"a producer of type {producer.type} reads no file"
        yield Finding((*path, "file"), what, f"type: one of {', '.join(_WITH_FILE)}")
    if producer.type == "CUSTOM" and producer.app is None:
        yield Finding(path, "a producer of type CUSTOM needs a program", "app: program.py")
    if producer.app is not None:
        yield from index.file((*path, "app"), producer.app)
    if producer.arrivals.file is not None:
        yield from index.file((*path, "arrivals", "file"), producer.arrivals.file)


def _load_of(path: Place, producer: Producer) -> Iterator[Finding]:
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
            yield Finding(
                (*path, "size"), f"{size.kind} sizes need 'mean'", f"{{kind: {size.kind}, mean: 1 kB}}"
            )
    if producer.keys.kind == "fixed" and producer.keys.value is None:
        yield Finding((*path, "keys"), "a fixed key needs 'value'", "{kind: fixed, value: k}")
    safe = producer.idempotence or producer.transactions
    if safe and producer.acks != "all":
        yield Finding((*path, "acks"), "idempotence and transactions need acks from all", "acks: all")
    if producer.transactions and producer.idempotence is False:
        yield Finding((*path, "idempotence"), "transactions need idempotence", "idempotence: true")
    if producer.passes is not None and producer.type != "ELTT":
        yield Finding((*path, "passes"), "only a producer of type ELTT makes passes", "messages: N")


def _needs_broker(index: Index, path: Place, client: Producer | Consumer) -> Iterator[Finding]:
    if client.type != "CUSTOM" and not index.experiment.brokers and not index.lost("brokers"):
        yield Finding(path, "there is no broker to talk to", "brokers: [{on: h1}]")


def check_consumers(index: Index) -> Iterator[Finding]:
    for number, consumer in enumerate(index.experiment.consumers):
        path: Place = ("consumers", number)
        for place, topic in enumerate(consumer.topics):
            yield from index.topic((*path, "topics", place), topic)
        if consumer.topics and consumer.pattern is not None:
            yield Finding(path, "gives both topics and a pattern", "keep one")
        if consumer.type == "STANDARD" and not consumer.topics and consumer.pattern is None:
            yield Finding(path, "a consumer of type STANDARD needs topics or a pattern", "topics: [NAME]")
        if consumer.type == "CUSTOM" and consumer.app is None:
            yield Finding(path, "a consumer of type CUSTOM needs a program", "app: program.py")
        if consumer.app is not None:
            yield from index.file((*path, "app"), consumer.app)
        yield from regular((*path, "pattern"), consumer.pattern)
        yield from _needs_broker(index, path, consumer)


def regular(path: Place, pattern: str | None) -> Iterator[Finding]:
    """A finding unless the pattern is a regular expression."""
    try:
        re.compile(pattern or "")
    except (re.error, OverflowError, RecursionError) as error:
        yield Finding(path, f"{brief(pattern)} is not a regular expression: {error}")


def check_sources(index: Index) -> Iterator[Finding]:
    for number, source in enumerate(index.experiment.sources):
        path: Place = ("sources", number)
        if (source.file is None) == (source.lines is None):
            yield Finding(path, "serves either a file or a number of generated lines", "file: lines.txt")
        if source.file is not None:
            yield from index.file((*path, "file"), source.file)
