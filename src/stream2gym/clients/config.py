"""The configuration of a client: one JSON object in a file, whose path is the client's only argument.

A component builds the dataclass, where mypy checks the types, and writes its ``to_json``; the client reads it back
with ``load``. Quantities are plain numbers whose names say the unit. Unknown and missing keys and values that make no
sense are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Literal, TypeVar

from stream2gym.errors import BadInput, Mistake
from stream2gym.jsonable import Jsonable
from stream2gym.record.messages import MOST_INSTANCES, MOST_STARTS

Properties = dict[str, str | int | float | bool]
# What the gate of a producer says before it gives t0: warm-up messages begin, with the time, and end.
WARMUP, PAUSE = "warmup", "pause"


class ClientConfig(Jsonable):
    """What ``load`` reads: a dataclass that knows which of its values make no sense."""

    def mistakes(self) -> list[Mistake]:
        return []


C = TypeVar("C", bound=ClientConfig)


def load(kind: type[C], path: Path) -> C:
    """Read and check the configuration of a client; raises BadInput with every mistake."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(Mistake("", f"cannot be read: {error.strerror}", file=str(path))) from error
    except ValueError as error:
        raise BadInput(Mistake("", f"is not JSON: {error}", file=str(path))) from error
    known = fields(kind)  # type: ignore[arg-type]  # every configuration is a dataclass
    needed = [each.name for each in known if each.default is MISSING and each.default_factory is MISSING]
    found = [Mistake(key, "is not a key") for key in data.keys() - {each.name for each in known}]
    found += [Mistake(key, "is missing") for key in needed if key not in data]
    if not found:
        try:
            config = kind.from_json(data)
            found = config.mistakes()
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise BadInput(Mistake("", f"has a value of the wrong type: {error}", file=str(path))) from error
        if not found:
            return config
    raise BadInput(found)


def _mistakes_among(*rules: tuple[bool, str, str]) -> list[Mistake]:
    """A mistake for every rule that is broken: (is it broken, where, what is wrong)."""
    return [Mistake(where, what) for is_broken, where, what in rules if is_broken]


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

    def rules(self) -> Iterator[tuple[bool, str, str]]:
        """Rules for ``_mistakes_among``."""
        needed = {"uniform": ("low", "high"), "normal": ("mean", "deviation")}.get(self.kind, ("mean",))
        for key in needed:
            yield getattr(self, key) is None, f"size.{key}", f"{self.kind} sizes need it"
        for key in ("mean", "low", "high", "deviation"):
            yield (getattr(self, key) or 0) < 0, f"size.{key}", "is below 0"
        yield (self.low or 0) > (self.high or self.low or 0), "size", f"low {self.low} is above high {self.high}"
        yield self.kind == "pareto" and self.shape <= 1, "size.shape", "must be above 1, else there is no mean"


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
    broker: Literal["kafka", "rabbitmq"] = "kafka"
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
        kind, rate = self.arrivals.kind, self.rate
        shares = [] if self.imperfect is None else ["late", "disordered", "duplicated", "missing", "noisy"]
        return _mistakes_among(
            (min(self.topics.values(), default=0) <= 0, "topics", "needs at least one topic, with weights above 0"),
            (rate is not None and rate <= 0, "rate", f"{rate} is not a rate (above 0, or null for no pause)"),
            (rate is None and kind in ("poisson", "bursts"), "rate", f"{kind} arrivals need a rate"),
            (self.type != "STANDARD" and not self.file, "file", f"{self.type} needs a file"),
            (kind == "trace" and not self.arrivals.file, "arrivals.file", "needs a file with a time stamp a line"),
            (self.keys.kind == "fixed" and self.keys.value is None, "keys.value", "a fixed key needs its value"),
            (self.transactions is not None and self.transactions < 1, "transactions", "needs at least one message"),
            (min(self.instance, self.incarnation) < 1, "instance", "instance and incarnation count from 1"),
            (self.instance > MOST_INSTANCES, "instance", f"is above what can be numbered: at most {MOST_INSTANCES}"),
            (self.incarnation > MOST_STARTS, "incarnation", f"is above what can be numbered: at most {MOST_STARTS}"),
            *(((getattr(self, key) or 0) < 0, key, "is below 0") for key in ("messages", "passes", "skip")),
            *((not 0 <= getattr(self.imperfect, key) <= 1, f"imperfect.{key}", "is a share between 0 and 1")
              for key in shares),
            *(() if self.size is None else self.size.rules()),
        )  # fmt: skip


@dataclass(frozen=True)
class ConsumerConfig(ClientConfig):
    bootstrap: str
    name: str
    group: str
    broker: Literal["kafka", "rabbitmq"] = "kafka"
    # RabbitMQ: the queue of each topic, and where to begin in those that are streams: an offset, first or next.
    queues: dict[str, str] = field(default_factory=dict)
    streams: dict[str, int | str] = field(default_factory=dict)
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
    # How long each message is handled before it is recorded.
    work_s: float = 0.0
    # The most messages that are handled before the clock and the signals are looked at again.
    batch: int = 500
    client: Properties = field(default_factory=dict)
    hash_by: dict[str, str] = field(default_factory=dict)
    ready_timeout_s: float = 30.0
    stop_s: float = 10.0

    def mistakes(self) -> list[Mistake]:
        return _mistakes_among(
            (bool(self.topics) == bool(self.pattern), "topics", "name topics or a pattern, one of the two"),
            (not self.group, "group", "a consumer needs a group"),
            (not 1 <= self.batch <= 100_000, "batch", f"{self.batch} is out of range (1 to 100000)"),
            (self.work_s < 0, "work_s", "is below 0"),
        )
