"""The streaming queries of a program, as Spark's event log tells them while it is being written.

Spark writes one JSON object a line. It tells whether a query runs, how far it has read, how each batch went, and why
it ended, so that the user's program need not be changed.
"""

from __future__ import annotations

import calendar
import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream2gym.components.death_cause import first_cause, with_remedy
from stream2gym.components.topics import TopicPartition

_QUERY = b"StreamingQueryListener$"
_WANTED = (
    _QUERY, b'"SparkListenerJobStart"', b'"SparkListenerExecutorAdded"', b'"SparkListenerExecutorRemoved"',
    b'"SparkListenerLogStart"',
)  # fmt: skip
_OLD_STREAMS = "Streaming job running receiver"


class LogTail:
    """Reads the lines of the event logs in a folder that are new. A program that starts again writes another file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}

    def lines(self) -> Iterator[bytes]:
        """The complete new lines of all files."""
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self._folder.iterdir()):
                yield from self.new_lines(path)

    def new_lines(self, path: Path) -> Iterator[bytes]:
        """The complete new lines of one file."""
        # Spark removes the suffix when the program ends in order.
        key = path.name.removesuffix(".inprogress")
        try:
            with path.open("rb") as file:
                file.seek(self._read.get(key, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    self._read[key] = self._read.get(key, 0) + len(line)
                    yield line
        except FileNotFoundError:
            return


@dataclass
class Query:
    """One streaming query, as the event log told it last."""

    name: str
    # Whether its sources are subscribed, so that offsets were looked up.
    begun: bool = False
    over: bool = False
    # Whether there were no new data after the last batch.
    idle: bool = False
    cause: str = ""
    # Finished batches that had data.
    batches: int = 0
    positions: dict[TopicPartition, int] = field(default_factory=dict)


class Queries:
    """All queries of one program, over all its starts."""

    def __init__(self, engine: str, host: str, folder: Path, tell: Callable[..., Any], sample: Any) -> None:
        self.engine = engine
        self.host = host
        self.by_run: dict[str, Query] = {}
        # Whether a receiver or a batch of a DStream program has started.
        self.old_streams = False
        # The hosts of the executors that have registered, and the cores of all of them.
        self.executors: list[str] = []
        self.executor_cores = 0
        # The ids of the executors that are there.
        self._alive: set[str] = set()
        # Names of queries by their id, which a checkpoint keeps.
        self._names: dict[str, str] = {}
        self._tail = LogTail(folder)
        self._tell = tell
        self._sample = sample
        # Spark's times are of the wall clock, ours are not.
        self._apart_ns = time.monotonic_ns() - time.time_ns()

    @property
    def now(self) -> list[Query]:
        """The queries that have not ended."""
        return [query for query in self.by_run.values() if not query.over]

    @property
    def cause(self) -> str:
        """Why the last query that failed has failed; empty if none has."""
        return next((query.cause for query in reversed(self.by_run.values()) if query.cause), "")

    def look(self) -> None:
        """Read what is new in the event logs."""
        for line in self._tail.lines():
            if any(word in line[:400] for word in _WANTED):
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    self._on_event(json.loads(line))

    def lose_executors(self) -> None:
        """Note that the program has ended, and its executors with it. A program that was killed does not log that."""
        if self._alive:
            self._alive.clear()
            self._sample("spark", self.engine, "executors", 0, at_ns=time.monotonic_ns())

    def _on_event(self, event: dict[str, Any]) -> None:
        kind = str(event["Event"]).rpartition("$")[2]
        match kind:
            case "QueryStartedEvent":
                self._started(event)
            case "QueryProgressEvent":
                self._progress(event["progress"])
            case "QueryIdleEvent":
                query = self.by_run[event["runId"]]
                query.begun = query.idle = True
            case "QueryTerminatedEvent":
                self._terminated(event)
            case "SparkListenerJobStart":
                self._job(event)
            case "SparkListenerExecutorAdded":
                self.executors.append(event["Executor Info"]["Host"])
                self.executor_cores += int(event["Executor Info"].get("Total Cores", 1))
                self._alive.add(event["Executor ID"])
                self._sample_executors(event)
            case "SparkListenerExecutorRemoved":
                self._alive.discard(event["Executor ID"])
                self._sample_executors(event)
            case "SparkListenerLogStart":
                # The executors of an earlier start ended with it.
                self._alive.clear()

    def _started(self, event: dict[str, Any]) -> None:
        name = self._names.setdefault(event["id"], event.get("name") or f"query-{len(self._names) + 1}")
        self.by_run[event["runId"]] = Query(name)
        self._event("query-started", name, at=event.get("timestamp"))

    def _progress(self, progress: dict[str, Any]) -> None:
        query = self.by_run[progress["runId"]]
        query.begun, query.idle = True, False
        query.batches += any(source.get("numInputRows") for source in _listed(progress.get("sources") or []))
        for source in progress.get("sources", ()):
            query.positions |= kafka_positions(source.get("endOffset"))
        duration_ms = progress.get("durationMs", {}).get("triggerExecution", 0)
        began_ns = self._at_ns(progress.get("timestamp"))
        at_ns = began_ns + int(duration_ms * 1e6) if began_ns else time.monotonic_ns()
        for metric, value in progress_numbers(progress):
            self._sample("spark", f"{self.engine}.{query.name}", metric, value, at_ns=at_ns)

    def _terminated(self, event: dict[str, Any]) -> None:
        query = self.by_run[event["runId"]]
        query.over = True
        exception = event.get("exception")
        if exception:
            query.cause = with_remedy(first_cause(exception))
            self._event("query-failed", query.name, cause=query.cause, error_class=event.get("errorClassOnException"))
        else:
            self._event("query-stopped", query.name)

    def _sample_executors(self, event: dict[str, Any]) -> None:
        at_ns = int(event["Timestamp"]) * 1_000_000 + self._apart_ns
        self._sample("spark", self.engine, "executors", len(self._alive), at_ns=at_ns)

    def _job(self, event: dict[str, Any]) -> None:
        properties = event.get("Properties", {})
        # A streaming query runs its jobs in a group that is named after its run.
        run = properties.get("spark.jobGroup.id")
        if run in self.by_run:
            query = self.by_run[run]
            query.begun, query.idle = True, False
        described = properties.get("spark.job.description", "")
        if _OLD_STREAMS in described or "spark.streaming.internal.batchTime" in properties:
            self.old_streams = True

    def _event(self, kind: str, query: str, at: str | None = None, **details: Any) -> None:
        self._tell(kind, at_ns=self._at_ns(at), component=self.engine, host=self.host, query=query, **details)

    def _at_ns(self, timestamp: str | None) -> int | None:
        wall = wall_ns(timestamp)
        return None if wall is None else wall + self._apart_ns


def wall_ns(timestamp: str | None) -> int | None:
    """Spark's ``2026-01-31T12:00:00.123Z`` as nanoseconds of the wall clock."""
    if not timestamp:
        return None
    with contextlib.suppress(ValueError):
        whole, _, part = timestamp.removesuffix("Z").partition(".")
        seconds = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))
        return seconds * 1_000_000_000 + int(part.ljust(9, "0")[:9] or 0)
    return None


def kafka_positions(offsets: Any) -> dict[TopicPartition, int]:
    """The next offset of every partition from the offsets of a source; empty if the source is not Kafka."""
    if isinstance(offsets, str):
        with contextlib.suppress(ValueError):
            offsets = json.loads(offsets)
    if not isinstance(offsets, dict):
        return {}
    return {
        (topic, int(number)): int(offset)
        for topic, partitions in offsets.items()
        if isinstance(partitions, dict)
        for number, offset in partitions.items()
        if str(number).isdigit() and isinstance(offset, int)
    }


def progress_numbers(progress: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Metric and value of every number in a progress report."""
    yield "batch_id", float(progress.get("batchId", -1))
    for part, total in (("sources", "rows"), ("sink", "rows_out")):
        found = progress.get(part) or []
        rows = [one.get("numInputRows", one.get("numOutputRows")) for one in _listed(found)]
        if any(row is not None for row in rows):
            yield total, float(sum(row or 0 for row in rows))
    for metric, key in (
        ("rows_a_second", "inputRowsPerSecond"),
        ("processed_a_second", "processedRowsPerSecond"),
    ):
        values = [_number(one.get(key)) for one in _listed(progress.get("sources") or [])]
        if values:
            yield metric, sum(values)
    durations = progress.get("durationMs") or {}
    if "triggerExecution" in durations:
        yield "batch_ms", float(durations["triggerExecution"])
    for key, value in durations.items():
        if key != "triggerExecution":
            yield f"batch_ms.{key}", float(value)
    state = progress.get("stateOperators") or []
    if state:
        yield "state_rows", float(sum(one.get("numRowsTotal", 0) for one in state))
        yield "state_bytes", float(sum(one.get("memoryUsedBytes", 0) for one in state))
        yield "late_rows", float(sum(one.get("numRowsDroppedByWatermark", 0) for one in state))
    watermark = wall_ns((progress.get("eventTime") or {}).get("watermark"))
    if watermark:
        yield "watermark_s", watermark / 1e9


def _listed(value: Any) -> list[dict[str, Any]]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _number(value: Any) -> float:
    """A number of Spark; 0 for NaN and Infinity, which Spark writes as text."""
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return 0.0
