"""Translates the keys of published YAML and properties files into those of the experiment format.

Unknown keys become warnings. Blank values and the word ``None`` mean the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stream2gym.errors import Mistake
from stream2gym.spec.findings import Origin, brief, did_you_mean
from stream2gym.spec.readers.yaml_documents import Document

PRODUCER_TYPES = ("SFST", "MFST", "ELTT", "STANDARD", "CUSTOM")
CONSUMER_TYPES = ("STANDARD", "CUSTOM")
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


class Unreadable(ValueError):
    """A value that does not fit. The text says what would."""


@dataclass
class Part:
    """The keys of one part of the experiment, with the line of each, and the mistakes and warnings about them."""

    shown: str
    line: int | None = 1
    keys: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int | None] = field(default_factory=dict)
    # For each of our keys: the published key.
    written: dict[str, str] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[Mistake] = field(default_factory=list)

    def origin(self, key: str, where: str) -> Origin:
        return Origin(self.shown, self.lines.get(key, self.line), f"{where}, {self.written.get(key, key)}")

    def wrong(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        self.mistakes.append(Mistake(where, what, hint, self.shown, line or self.line))

    def warn(self, where: str, what: str, hint: str = "", line: int | None = None) -> None:
        self.warnings.append(Mistake(where, what, hint, self.shown, line or self.line))


def whole(value: Any) -> int:
    """A whole number, also as text or as 3.0."""
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
    """A text, also from a list where the published format has one text with commas."""
    return ",".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _switch(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in _TRUE + _FALSE:
        raise Unreadable(f"{brief(value)} is not true or false")
    return word in _TRUE


def within(low: int, high: float, unit: str = "") -> Callable[[Any], int]:
    """A reader of whole numbers between bounds."""

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
# For each published key: our key, and the function that reads its value.
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
# Keys that the originals do not read in a producer, consumer or engine of that type, whatever their values are.
_STOCK = frozenset(PRODUCER) - {"producerPath", "producerInstances", "topicName"}
_OF_CLUSTER = frozenset(("nSPEWorkerInstances", "nWorkerCores", "workerMemory"))
FAULT: dict[str, tuple[str, Reader]] = {
    "duration": ("for", within(1, _MANY, "s")),
    "links": ("links", _joined),
}


def unread_producer_keys(kind: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Published keys that a producer of this type does not read, each with the reason. Its keys are ``data``."""
    if kind == "CUSTOM":
        return dict.fromkeys(_STOCK, "has no meaning for a CUSTOM producer")
    if kind == "STANDARD" and _is_blank(data.get("producerPath")):
        no_count = "has no meaning for a STANDARD producer, which sends until the time is over"
        return {"filePath": "has no meaning for a STANDARD producer, which reads no file", "totalMessages": no_count}
    return {}


def unread_consumer_keys(kind: str, _data: Mapping[str, Any]) -> dict[str, str]:
    """Published keys that a consumer of this type does not read, each with the reason."""
    if kind == "CUSTOM":
        stock = ("fetchMinBytes", "fetchMaxWait", "sessionTimeout")
        return dict.fromkeys(stock, "has no meaning for a CUSTOM consumer")
    return {}


def unread_engine_keys(kind: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Published keys that an engine of this type does not read, each with the reason. Its keys are ``data``."""
    if kind.lower() not in ("", "spark"):
        return dict.fromkeys(("cluster", *_OF_CLUSTER), f"has no meaning for {kind}")
    if str(data.get("cluster", "")).strip().lower() in ("", "none", *_FALSE):
        return dict.fromkeys(_OF_CLUSTER, "has no meaning without cluster: True")
    return {}


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip() in ("", "None"))


Unread = Callable[[Mapping[str, Any]], dict[str, str]]


def read_all(_data: Mapping[str, Any]) -> dict[str, str]:
    """For parts of which every known key is read."""
    return {}


def read_part(
    document: Document, shown: str, table: dict[str, tuple[str, Reader]], unread: Unread = read_all
) -> Part:
    """Read one document of published keys. Blank values are left out, so that the defaults apply.

    ``unread`` tells the keys that the originals do not read here: they are warned of and left out.
    """
    part = Part(shown, document.origins.at(())[0].line)
    data = document.data
    if data is None:
        return part
    if not isinstance(data, dict):
        part.wrong("", f"{brief(data)} is not a set of keys and values", f"known: {', '.join(table)}")
        return part
    without_meaning = unread(data)
    for key, value in data.items():
        line = document.origins.at((key,))[0].line
        if key not in table:
            part.warn(key, "unknown key, ignored", did_you_mean(key, table), line)
            continue
        if _is_blank(value):
            continue
        if key in without_meaning:
            part.warn(key, f"{without_meaning[key]}, ignored", line=line)
            continue
        ours, read = table[key]
        try:
            part.keys[ours] = read(value)
        except (Unreadable, OverflowError) as error:
            part.wrong(key, str(error), line=line)
        part.lines[ours], part.written[ours] = line, key
    return part


def require(part: Part, table: dict[str, tuple[str, Reader]], *keys: str, why: str = "") -> None:
    """Add a mistake for each of these published keys that is missing."""
    for key in keys:
        if table[key][0] not in part.keys and table[key][0] not in part.lines:
            part.wrong("", f"{key} is missing", why)


def producer_keys(part: Part, kind: str) -> None:
    """Turn the published keys into those of a producer of its type, in place."""
    total = part.keys.pop("total", 0)
    if kind == "SFST" or (kind == "STANDARD" and "total" in part.lines):
        part.keys["messages"] = total
    elif kind == "ELTT":
        part.keys["passes"] = total
    if kind in ("SFST", "ELTT") and total == 0 and "total" not in part.lines:
        part.warn("totalMessages", "is missing, so this producer sends nothing", "totalMessages: 1")
    needs = {"CUSTOM": ("producerPath",), "STANDARD": ("topicName",)}.get(kind, ("topicName", "filePath"))
    require(part, PRODUCER, *needs, why=f"a producer of type {kind} needs it")


def read_properties(text: str) -> dict[str, tuple[str, int]]:
    """Read a Java properties file.

    Returns value and line of each key. Comments, continued lines and ``:`` are supported.
    """
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
