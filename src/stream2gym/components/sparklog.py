"""What Spark's event log says about a program's streaming queries, read while it is being written.

Spark writes one JSON object a line. We keep what is needed to tell whether a query runs, how far it has read, how
each batch went, and why it ended: nothing has to change in the user's program for that.
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

from stream2gym.components.causes import first_cause, with_remedy

Place = tuple[str, int]
_QUERY = b"StreamingQueryListener$"
_WANTED = (_QUERY, b'"SparkListenerJobStart"', b'"SparkListenerExecutorAdded"')
_OLD_STREAMS = "Streaming job running receiver"


class LogTail:
    """New whole lines of the event logs in a folder; a program that starts again writes another file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}

    def lines(self) -> Iterator[bytes]:
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self._folder.iterdir()):
                yield from self.new_lines(path)

    def new_lines(self, path: Path) -> Iterator[bytes]:
        """Those of one file."""
        key = path.name.removesuffix(".inprogress")  # an orderly end takes the suffix away
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
    """One streaming query as last heard of."""

    name: str
    begun: bool = False  # its sources are subscribed: offsets were looked up
    over: bool = False
    idle: bool = False  # nothing came after the last batch
    cause: str = ""
    positions: dict[Place, int] = field(default_factory=dict)


class Queries:
    """All queries of one program, over all its starts."""

    def __init__(self, engine: str, host: str, folder: Path, tell: Callable[..., Any], sample: Any) -> None:
        self.engine, self.host = engine, host
        self.by_run: dict[str, Query] = {}
        self.old_streams = False  # a DStream program's receiver or batch has started
        self.executors: list[str] = []
        self._names: dict[str, str] = {}  # query id, which a checkpoint keeps, to name
        self._tail = LogTail(folder)
        self._tell, self._sample = tell, sample
        # Spark's times are the wall clock's; ours are not.
        self._apart_ns = time.monotonic_ns() - time.time_ns()

    @property
    def now(self) -> list[Query]:
        """Those that have not ended."""
        return [query for query in self.by_run.values() if not query.over]

    @property
    def cause(self) -> str:
        """Why the last query that failed did."""
        return next((query.cause for query in reversed(self.by_run.values()) if query.cause), "")

    def look(self) -> None:
        for line in self._tail.lines():
            if any(word in line[:400] for word in _WANTED):
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    self._hear(json.loads(line))

    def _hear(self, event: dict[str, Any]) -> None:
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

    def _started(self, event: dict[str, Any]) -> None:
        name = self._names.setdefault(event["id"], event.get("name") or f"query-{len(self._names) + 1}")
        self.by_run[event["runId"]] = Query(name)
        self._event("query-started", name, at=event.get("timestamp"))

    def _progress(self, progress: dict[str, Any]) -> None:
        query = self.by_run[progress["runId"]]
        query.begun, query.idle = True, False
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
            self._event(
                "query-failed", query.name, cause=query.cause, error_class=event.get("errorClassOnException")
            )
        else:
            self._event("query-stopped", query.name)

    def _job(self, event: dict[str, Any]) -> None:
        properties = event.get("Properties", {})
        run = properties.get(
            "spark.jobGroup.id"
        )  # a streaming query runs its jobs in a group named by its run
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


def kafka_positions(offsets: Any) -> dict[Place, int]:
    """The next offset of every partition, where the source is Kafka."""
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
    """Metric and value of everything that a progress report says in numbers."""
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
    """Spark writes NaN and Infinity as text."""
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return 0.0
