"""What is on record of the programs of the user, from the events that their recorders noted. Pure.

A program is observed when each of its instances used a Kafka library that the recorder knows, and when the recorder
noted nothing that it could not record. A library that the recorder does not know, or a process that it did not reach,
leaves no note. So an instance of which no process noted a client is not observed, and that is the reason given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stream2gym.components.program_command import can_be_observed
from stream2gym.spec.model import Consumer, Engine, Producer

_LATEST = ("latest", "largest", "end")
_BEGINNING, _END = -2, -1  # as confluent-kafka names both ends of a partition
ONE, SEVERAL = " is not observed: ", " are not observed: "
LIBRARIES = "confluent-kafka, kafka-python or aiokafka"


@dataclass(frozen=True)
class BlindSpot:
    """Something that a program did, or may have done, that is not on record."""

    what: str
    why: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{self.what} ({self.why})" if self.what else self.why
        return f"{text}; to observe it, {self.remedy}" if self.remedy else text


def find_blind_spots(
    part: Producer | Consumer | Engine, events: Iterable[Mapping[str, Any]]
) -> tuple[BlindSpot, ...]:
    """What is not on record of a program; nothing where all of it is."""
    if part.app is None:
        return ()
    if isinstance(part, Engine) and not can_be_observed(part):
        return (BlindSpot("", "what it sends and fetches is recorded on request only", "say observe: wire"),)
    if not part.observe:
        return (BlindSpot("", "the experiment says observe: false", "leave that out"),)
    if not can_be_observed(part):
        remedy = f"say observe: wire, or write it in Python with {LIBRARIES}"
        return (BlindSpot("", "it is no Python program", remedy),)
    own = [event for event in events if event.get("component") == part.name]
    found = [
        BlindSpot(str(event.get("what", "")), str(event.get("why", "")), str(event.get("remedy", "")))
        for event in own
        if event.get("event") == "unobserved"
    ]
    loaded = {event.get("instance") for event in own if event.get("event") == "recorder-loaded"}
    clients = {event.get("instance") for event in own if event.get("event") == "observed"}
    wanted = set(range(1, 1 + (1 if isinstance(part, Engine) else part.instances)))
    if part.observe == "wire":
        if wanted - clients and not found:
            found.append(BlindSpot("", "its packets were not decoded"))
    elif wanted - loaded:
        found.append(
            BlindSpot(
                "",
                "the recorder was not loaded",
                "start Python without -I, -E and -S, and hand PYTHONPATH and S2G_RECORDER on to further processes,"
                " or say observe: wire",
            )
        )
    elif wanted - clients and not found:
        found.append(BlindSpot("", f"it used none of {LIBRARIES}", f"use {LIBRARIES}"))
    return tuple(dict.fromkeys(found))


def describe_blind_spots(found: Mapping[str, tuple[BlindSpot, ...]]) -> Iterator[str]:
    """A sentence for each reason why programs were not observed, with the programs and what would change it."""
    names: dict[str, list[str]] = {}
    for name, spots in found.items():
        if spots:
            names.setdefault("; ".join(map(str, spots)), []).append(name)
    for why, programs in names.items():
        yield f"{', '.join(programs)}{ONE if len(programs) == 1 else SEVERAL}{why}"


def names_of_unobserved(note: str) -> list[str]:
    """The programs that such a sentence speaks of; none for another sentence."""
    for words in (ONE, SEVERAL):
        programs, found, _ = note.partition(words)
        if found:
            return programs.split(", ")
    return []


def find_read_topics(
    events: Iterable[Mapping[str, Any]], topics: Collection[str]
) -> dict[str, dict[tuple[str, str], bool]]:
    """The groups and topics that observed programs read, by component, with whether they began at the end.

    A pattern stands for those of the ``topics`` that it matches: a member that never got a partition, because its
    coordinator was out of reach, wanted them all the same.
    """
    found: dict[str, dict[tuple[str, str], bool]] = {}
    at_end: dict[tuple[str, str], bool] = {}
    for event in events:
        kind, name, group = event.get("event"), str(event.get("component")), str(event.get("group", ""))
        if kind == "observed" and event.get("role") == "consumer":
            at_end[name, group] = str(event.get("start")) in _LATEST
        elif (name, group) not in at_end:
            continue
        elif kind == "subscribed":
            for topic in _subscribed_topics(event, topics):
                found.setdefault(name, {}).setdefault((group, topic), at_end[name, group])
        elif kind == "assigned":
            for topic, _number, offset in event.get("partitions", ()):
                latest = offset == _END or (at_end[name, group] and offset != _BEGINNING)
                found.setdefault(name, {})[group, str(topic)] = latest
    return found


def _subscribed_topics(event: Mapping[str, Any], topics: Collection[str]) -> Iterator[str]:
    """The topics that a program subscribed to: by name, or of those that there are by a pattern."""
    named = [str(topic) for topic in event.get("topics", ())]
    yield from (topic for topic in named if not topic.startswith("^"))
    patterns = [topic for topic in named if topic.startswith("^")]
    if event.get("pattern"):
        patterns.append(str(event["pattern"]))
    for pattern in patterns:
        try:
            matching = re.compile(pattern)
        except re.error:  # of another dialect: then only what it was assigned is known
            continue
        yield from (topic for topic in topics if matching.match(topic))
