"""The YAML and properties files that a published GraphML refers to, in the words of the experiment format.

Every reader takes a file's documents and gives plain keys; keys that nobody knows warn, blank values mean the
default, the word ``None`` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stream2gym.errors import Mistake
from stream2gym.spec.places import Origin, brief, did_you_mean
from stream2gym.spec.yamldoc import Document

PRODUCER_TYPES = ("SFST", "MFST", "ELTT", "STANDARD", "CUSTOM")
CONSUMER_TYPES = ("STANDARD", "CUSTOM")
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


class Unreadable(ValueError):
    """A value that does not fit; the text says what would."""


@dataclass
class Part:
    """Keys of one part of the experiment, with the line that each came from."""

    shown: str
    line: int | None = 1
    keys: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int | None] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)  # our key to the published one
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)

    def origin(self, key: str, where: str) -> Origin:
        return Origin(self.shown, self.lines.get(key, self.line), f"{where}, {self.written.get(key, key)}")

    def wrong(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        self.mistakes.append(Mistake(where, what, hint, self.shown, line or self.line))

    def warn(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        self.warnings.append(Mistake(where, what, hint, self.shown, line or self.line))


def whole(value: Any) -> int:
    """A whole number, also as text and as 3.0."""
    try:
        number = float(str(value)) if not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not math.isfinite(number) or int(number) != number:
        raise Unreadable(f"{brief(value)} is not a whole number")
    return int(number)


def number(value: Any) -> float:
    """A number of zero or more, also as text."""
    try:
        read = float(str(value))
    except ValueError:
        raise Unreadable(f"{brief(value)} is not a number") from None
    if not 0 <= read < math.inf:
        raise Unreadable(f"{brief(value)} is not a number of zero or more")
    return read


def _text(value: Any) -> str:
    if isinstance(value, dict | list):
        raise Unreadable(f"{brief(value)} is not a text")
    return str(value).strip()


def _joined(value: Any) -> str:
    """A list where the published format has one text with commas."""
    return ",".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _switch(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in _TRUE + _FALSE:
        raise Unreadable(f"{brief(value)} is not true or false")
    return word in _TRUE


def within(low: int, high: float, unit: str = "") -> Callable[[Any], int]:
    """A whole number between bounds."""

    def read(value: Any) -> int:
        number = whole(value)
        if not low <= number <= high:
            bounds = f"at least {low}" if high == float("inf") else f"between {low} and {int(high)}"
            raise Unreadable(f"{number} is out of range: {bounds}{unit and ' ' + unit}")
        return number

    return read


def _ms(low: int = 0, high: float = float("inf")) -> Callable[[Any], str]:
    read = within(low, high, "ms")
    return lambda value: f"{read(value)} ms"


def _bytes(value: Any) -> str:
    return f"{within(0, float('inf'))(value)} B"


def _acks(value: Any) -> int | str:
    number = whole(value)
    if number not in (0, 1, 2):
        raise Unreadable(f"{number} is not one of 0, 1, 2 (2 means all)")
    return "all" if number == 2 else number


def _compression(value: Any) -> str:
    word = _text(value)
    if word not in ("gzip", "snappy", "lz4"):
        raise Unreadable(f"{word!r} is not one of gzip, snappy, lz4")
    return word


def _rate(value: Any) -> str:
    rate = number(value)
    if rate == 0:
        raise Unreadable("a rate of 0 sends nothing")
    return f"{rate!r}/s"


_MANY = float("inf")
Reader = Callable[[Any], Any]
# Published key: our key, how it is read.
TOPIC: dict[str, tuple[str, Reader]] = {
    "topicName": ("name", _text), "topicBroker": ("via", within(0, 10**9)),
    "topicPartition": ("partitions", within(1, 100_000)), "topicReplica": ("replicas", within(1, 1000)),
}  # fmt: skip
BROKER: dict[str, tuple[str, Reader]] = {
    "replicaMaxWait": ("replica.fetch.wait.max.ms", within(0, 29_999, "ms")),
    "replicaMinBytes": ("replica.fetch.min.bytes", within(0, 2**31 - 1)),
}
PRODUCER: dict[str, tuple[str, Reader]] = {
    "filePath": ("file", _text), "topicName": ("topic", _text), "totalMessages": ("total", within(0, _MANY)),
    "producerInstances": ("instances", within(1, 10_000)), "producerPath": ("app", _text),
    "messageRate": ("rate", _rate), "acks": ("acks", _acks), "compression": ("compression", _compression),
    "batchSize": ("batch", _bytes), "bufferMemory": ("buffer", _bytes), "linger": ("linger", _ms()),
    "requestTimeout": ("request_timeout", _ms()),
}  # fmt: skip
CONSUMER: dict[str, tuple[str, Reader]] = {
    "topicName": ("topics", lambda value: [_text(value)]), "consumerPath": ("app", _text),
    "consumerInstances": ("instances", within(1, 10_000)), "fetchMinBytes": ("fetch_min", _bytes),
    "fetchMaxWait": ("fetch_wait", _ms()), "sessionTimeout": ("session_timeout", _ms(6000, 1_800_000)),
}  # fmt: skip
ENGINE: dict[str, tuple[str, Reader]] = {
    "app": ("app", _text), "cluster": ("cluster", _switch), "nSPEWorkerInstances": ("workers", within(1, 10_000)),
    "nWorkerCores": ("worker_cores", within(1, 10_000)), "workerMemory": ("worker_memory", _text),
}  # fmt: skip
FAULT: dict[str, tuple[str, Reader]] = {
    "duration": ("for", within(1, _MANY, "s")),
    "links": ("links", _joined),
}


def read_part(document: Document, shown: str, table: dict[str, tuple[str, Reader]]) -> Part:
    """One document of published keys; blank values are left out, so that defaults hold."""
    part = Part(shown, document.origins.at(())[0].line)
    data = document.data
    if data is None:
        return part
    if not isinstance(data, dict):
        part.wrong("", f"{brief(data)} is not a set of keys and values", f"known: {', '.join(table)}")
        return part
    for key, value in data.items():
        line = document.origins.at((key,))[0].line
        if key not in table:
            part.warn(key, "unknown key, ignored", did_you_mean(key, table), line)
            continue
        if value is None or (isinstance(value, str) and value.strip() in ("", "None")):
            continue
        ours, read = table[key]
        try:
            part.keys[ours] = read(value)
        except (Unreadable, OverflowError) as error:
            part.wrong(key, str(error), line=line)
        part.lines[ours], part.written[ours] = line, key
    return part


def require(part: Part, table: dict[str, tuple[str, Reader]], *keys: str, why: str = "") -> None:
    """Mistakes for published keys that must be there."""
    for key in keys:
        if table[key][0] not in part.keys and table[key][0] not in part.lines:
            part.wrong("", f"{key} is missing", why)


def producer_keys(part: Part, kind: str) -> None:
    """Make a producer of its type from the published keys, in place."""
    total = part.keys.pop("total", 0)
    if kind == "SFST":
        part.keys["messages"] = total
    elif kind == "ELTT":
        part.keys["passes"] = total
    if kind in ("SFST", "ELTT") and total == 0 and "total" not in part.lines:
        part.warn("totalMessages", "is missing, so this producer sends nothing", "totalMessages: 1")
    needs = {"CUSTOM": ("producerPath",), "STANDARD": ("topicName",)}.get(kind, ("topicName", "filePath"))
    require(part, PRODUCER, *needs, why=f"a producer of type {kind} needs it")
    if kind == "CUSTOM":
        for ours in set(part.keys) - {"app", "instances", "topic"}:
            published = next((key for key, (name, _) in PRODUCER.items() if name == ours), ours)
            part.warn(published, "has no meaning for a CUSTOM producer, ignored", line=part.lines.get(ours))
            del part.keys[ours]


def read_properties(text: str) -> dict[str, tuple[str, int]]:
    """A Java properties file: key to value and line. Comments, continued lines and ``:`` are understood."""
    found: dict[str, tuple[str, int]] = {}
    kept, start = "", 1
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not kept:
            if not line or line[0] in "#!":
                continue
            start = number
        if line.endswith("\\") and not line.endswith("\\\\"):
            kept += line[:-1]
            continue
        whole_line, kept = kept + line, ""
        cut = min((whole_line.index(sign) for sign in "=:" if sign in whole_line), default=len(whole_line))
        found[whole_line[:cut].strip()] = (whole_line[cut + 1 :].strip(), start)
    return found
