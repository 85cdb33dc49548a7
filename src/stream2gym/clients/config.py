"""What a client is told: one JSON object in one file, read into plain dataclasses and checked at once.

These are the arguments of ``clients.producer`` and ``clients.consumer``; who starts a client builds the
dataclass and writes its ``to_json``. Quantities are plain numbers whose names say the unit. Unknown keys and
impossible values are refused, all of them in one message.
"""

from __future__ import annotations

import json
import types
import typing
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from stream2gym.errors import BadInput, Mistake
from stream2gym.jsonable import Jsonable

Properties = dict[str, str | int | float | bool]


class ClientConfig(Jsonable):
    """What ``load`` reads: a dataclass that says what is wrong with it beyond types."""

    def mistakes(self) -> list[Mistake]:
        return []


@dataclass(frozen=True)
class Arrivals(Jsonable):
    kind: Literal["constant", "poisson", "bursts", "trace"] = "constant"
    on_s: float = 1.0
    off_s: float = 1.0
    file: str | None = None
    speed: float = 1.0


@dataclass(frozen=True)
class Sizes(Jsonable):
    kind: Literal["fixed", "uniform", "normal", "pareto"] = "fixed"
    mean: int | None = None
    low: int | None = None
    high: int | None = None
    deviation: int | None = None
    shape: float = 1.5


@dataclass(frozen=True)
class Keys(Jsonable):
    kind: Literal["none", "uniform", "zipf", "sequence", "fixed"] = "none"
    count: int = 100
    skew: float = 1.1
    value: str | None = None


@dataclass(frozen=True)
class Imperfect(Jsonable):
    """Shares of events between 0 and 1."""

    late: float = 0.0
    late_by_s: float = 5.0
    disordered: float = 0.0
    disordered_by: int = 10
    duplicated: float = 0.0
    missing: float = 0.0
    noisy: float = 0.0


@dataclass(frozen=True)
class ProducerConfig(ClientConfig):
    bootstrap: str
    name: str
    topics: dict[str, float]  # with their weights
    instance: int = 1
    incarnation: int = 1  # the n-th start of this instance
    number: int = 1  # of the host: part of STANDARD payloads
    journal: str | None = None  # None: nothing is recorded
    truth: str | None = None  # the truth about an imperfect source; needs ``imperfect``
    seed: int = 1
    type: Literal["STANDARD", "SFST", "MFST", "ELTT"] = "STANDARD"
    file: str | None = None
    rate: float | None = None  # a second; None: as fast as it goes
    rate_of: Literal["messages", "bytes"] = "messages"
    arrivals: Arrivals = field(default_factory=Arrivals)
    size: Sizes | None = None
    keys: Keys = field(default_factory=Keys)
    messages: int | None = None
    passes: int | None = None  # over the file or folder; None: once
    duration_s: float | None = None
    skip: int = 0  # messages that earlier starts have already recorded
    acks: Literal[0, 1, "all"] = 1
    linger_ms: float | None = None
    batch_bytes: int | None = None
    buffer_bytes: int | None = None
    request_timeout_ms: int | None = None
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    idempotence: bool | None = None
    transactions: int | None = None  # messages a transaction
    imperfect: Imperfect | None = None
    client: Properties = field(default_factory=dict)
    hash_by: dict[str, str] = field(default_factory=dict)  # topic: value | json:$.path
    start: Literal["gate", "now"] = "gate"
    ready_timeout_s: float = 30.0
    stop_s: float = 10.0  # from SIGTERM to the end, whatever the network does

    def mistakes(self) -> list[Mistake]:
        """What is wrong beyond types."""
        found = []
        if not self.topics or any(weight <= 0 for weight in self.topics.values()):
            found.append(Mistake("topics", "needs at least one topic, with weights above 0"))
        if self.rate is not None and self.rate <= 0:
            found.append(Mistake("rate", f"{self.rate} is not a rate", "above 0, or null for no pause"))
        if self.type != "STANDARD" and not self.file:
            found.append(Mistake("file", f"{self.type} needs a file"))
        if self.arrivals.kind == "trace" and not self.arrivals.file:
            found.append(Mistake("arrivals.file", "a trace needs a file with a time stamp a line"))
        if self.arrivals.kind in ("poisson", "bursts") and self.rate is None:
            found.append(Mistake("rate", f"{self.arrivals.kind} arrivals need a rate"))
        if self.keys.kind == "fixed" and self.keys.value is None:
            found.append(Mistake("keys.value", "a fixed key needs its value"))
        if self.size is not None:
            found += _size_mistakes(self.size)
        for name in ("messages", "passes", "skip"):
            if (getattr(self, name) or 0) < 0:
                found.append(Mistake(name, "is below 0"))
        if self.transactions is not None and self.transactions < 1:
            found.append(Mistake("transactions", "a transaction has at least one message"))
        if self.instance < 1 or self.incarnation < 1:
            found.append(Mistake("instance", "instance and incarnation count from 1"))
        for name in ("late", "disordered", "duplicated", "missing", "noisy"):
            if self.imperfect and not 0 <= getattr(self.imperfect, name) <= 1:
                found.append(Mistake(f"imperfect.{name}", "is a share between 0 and 1"))
        return found


@dataclass(frozen=True)
class ConsumerConfig(ClientConfig):
    bootstrap: str
    name: str
    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None  # a regular expression over topic names
    instance: int = 1
    incarnation: int = 1
    journal: str | None = None
    start_from: Literal["earliest", "latest"] = "earliest"
    isolation: Literal["read_committed", "read_uncommitted"] = "read_uncommitted"
    commit: Literal["auto", "before", "after"] = "auto"
    fetch_min_bytes: int | None = None
    fetch_wait_ms: int | None = None
    session_timeout_ms: int | None = None
    work_s: float = 0.0  # what handling a message takes before it is recorded
    batch: int = 500  # messages handled between two looks at the world
    client: Properties = field(default_factory=dict)
    hash_by: dict[str, str] = field(default_factory=dict)
    ready_timeout_s: float = 30.0
    stop_s: float = 10.0

    def mistakes(self) -> list[Mistake]:
        found = []
        if bool(self.topics) == bool(self.pattern):
            found.append(Mistake("topics", "name topics or a pattern, one of the two"))
        if not self.group:
            found.append(Mistake("group", "a consumer needs a group"))
        if not 1 <= self.batch <= 100_000:
            found.append(Mistake("batch", f"{self.batch} is out of range", "1 to 100000"))
        if self.work_s < 0:
            found.append(Mistake("work_s", "is below 0"))
        return found


C = TypeVar("C", bound=ClientConfig)


def load(kind: type[C], path: Path) -> C:
    """Read and check a client's configuration; raises BadInput with every mistake."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(Mistake("", f"cannot be read: {error.strerror}", file=str(path))) from error
    except ValueError as error:
        raise BadInput(Mistake("", f"is not JSON: {error}", file=str(path))) from error
    mistakes = _type_mistakes(kind, data, "")
    if not mistakes:
        config = kind.from_json(data)
        mistakes = config.mistakes()
        if not mistakes:
            return config
    raise BadInput(mistakes)


def _size_mistakes(size: Sizes) -> list[Mistake]:
    needs = {
        "fixed": ("mean",),
        "uniform": ("low", "high"),
        "normal": ("mean", "deviation"),
        "pareto": ("mean",),
    }
    found = [
        Mistake(f"size.{name}", f"{size.kind} sizes need it")
        for name in needs[size.kind]
        if getattr(size, name) is None
    ]
    if any((getattr(size, name) or 0) < 0 for name in ("mean", "low", "high", "deviation")):
        found.append(Mistake("size", "a size is not below 0"))
    if size.low is not None and size.high is not None and size.low > size.high:
        found.append(Mistake("size", f"low {size.low} is above high {size.high}"))
    if size.kind == "pareto" and size.shape <= 1:
        found.append(Mistake("size.shape", "must be above 1, else there is no mean"))
    return found


def _type_mistakes(kind: Any, data: Any, where: str) -> list[Mistake]:
    """Keys that are unknown or missing and values of the wrong type, recursively."""
    if not isinstance(data, dict):
        return [Mistake(where, f"{data!r} is not an object")]
    hints = typing.get_type_hints(kind)
    found = []
    for key in data.keys() - hints.keys():
        from difflib import get_close_matches  # only a mistake pays for it

        near = get_close_matches(key, hints, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(hints)}"
        found.append(Mistake(f"{where}{key}", "is not a key", hint))
    for item in fields(kind):
        if item.name in data:
            found += _value_mistakes(hints[item.name], data[item.name], f"{where}{item.name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            found.append(Mistake(f"{where}{item.name}", "is missing"))
    return found


def _value_mistakes(hint: Any, value: Any, where: str) -> list[Mistake]:
    if hint is Any:
        return []
    origin, args = get_origin(hint), get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if any(not _value_mistakes(arg, value, where) for arg in args):
            return []
        inner = [arg for arg in args if arg is not type(None)]
        return _value_mistakes(inner[0], value, where) if len(inner) == 1 else [_wrong(where, value, hint)]
    if is_dataclass(hint):
        return _type_mistakes(hint, value, f"{where}.")
    if origin is Literal:
        near = ", ".join(str(arg) for arg in args)
        same = any(value == arg and type(value) is type(arg) for arg in args)
        return [] if same else [Mistake(where, f"{value!r} is not known", f"one of {near}")]
    if origin is dict:
        if not isinstance(value, dict):
            return [_wrong(where, value, hint)]
        return [m for key, part in value.items() for m in _value_mistakes(args[1], part, f"{where}.{key}")]
    if origin is tuple:
        if not isinstance(value, list | tuple):
            return [_wrong(where, value, hint)]
        return [m for part in value for m in _value_mistakes(args[0], part, where)]
    if isinstance(value, bool):
        return [] if hint is bool else [_wrong(where, value, hint)]
    if hint is float:
        return [] if isinstance(value, int | float) else [_wrong(where, value, hint)]
    return [] if isinstance(value, hint) else [_wrong(where, value, hint)]


def _wrong(where: str, value: Any, hint: Any) -> Mistake:
    expected = getattr(hint, "__name__", str(hint)) if get_origin(hint) is None else str(hint)
    return Mistake(where, f"{value!r} is of the wrong type", f"expected {expected}")
