"""What a Flink job is doing, as its REST interface told it last: readiness, positions, samples, failures. Pure.

``clients.flink_watch`` asks, this module draws the conclusions. A job is ready when it and all its tasks run, and
its Kafka sources have all partitions of their topics and have fetched once. It is settled when everything that it has
read is behind it: with checkpoints, when one was completed that began after the last message was read, as with it
results are flushed or committed; without checkpoints, when no number has changed for a while.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stream2gym.components.death_cause import first_cause
from stream2gym.components.topics import TopicPartition

SOURCE = "flink"
# Results are committed to Kafka after the checkpoint is complete.
COMMIT_S = 1.0
# Without checkpoints: how long no number may have changed.
STILL_S = 2.0
# A task manager tells its slots a little later than itself.
SHORT_S = 5.0
LONGEST_NAME = 60
_CATALOG = re.compile(r"(KafkaSource-)?default_catalog\.default_database\.")
_ENDED = ("FINISHED", "FAILED", "CANCELED")
_ENDED_WELL = ("FINISHED", "CANCELED", "CANCELLING")
_FINE = ("RUNNING", "FINISHED")


@dataclass
class JobState:
    """One job, over the failures that it survives by itself."""

    id: str
    name: str
    state: str = ""
    # Whether every task has run at once since the last failure.
    is_working: bool = False
    # How often it has started again by itself, and its checkpoints by how they ended; empty while not known.
    counts: dict[str, float] = field(default_factory=dict)
    # When it last began to start again by itself, on the wall clock.
    restarting_ms: int = 0
    # The most tasks of one kind that run side by side.
    width: int = 0
    # Whether it has sources of Kafka; None while that is not known.
    reads_topics: bool | None = None
    # Whether all its sources of Kafka have fetched once, so that they know where they are.
    fetches: bool = False
    # Next offsets by partition.
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    # When numbers changed last, on the wall clock and on CLOCK_MONOTONIC.
    changed_wall_ms: int = 0
    changed_s: float = 0.0
    checkpoint: int = -1
    # When the last complete checkpoint began, on the wall clock, and when we first saw it complete.
    checkpoint_began_ms: int = 0
    checkpoint_seen_s: float = 0.0
    cause: str = ""


def has_all_tasks(vertex: Mapping[str, Any]) -> bool:
    """Whether all tasks of a vertex run. Flink says that a vertex is running as soon as one of its tasks is."""
    counts = vertex.get("tasks") or {str(vertex["status"]): int(vertex["parallelism"])}
    return sum(int(counts.get(state) or 0) for state in _FINE) >= int(vertex["parallelism"])


class FlinkState:
    """The job of one program, over all starts of its process. ``take`` takes what the REST interface told."""

    def __init__(
        self,
        engine: str,
        host: str,
        partitions: Mapping[str, int],
        tell: Callable[..., Any],
        sample: Callable[..., None],
        *,
        has_checkpoints: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self.host = host
        # How many partitions the topics of the experiment have.
        self._partitions = partitions
        # Flink writes '_' for every '.' in the names of its numbers. No two topics of Kafka differ in that alone.
        self._topics = {topic.replace(".", "_"): topic for topic in partitions}
        self._tell = tell
        self._sample = sample
        self._has_checkpoints = has_checkpoints
        self._clock = clock
        self.job: JobState | None = None
        self.slots = 0
        self.task_managers = 0
        # Since when there are too few slots; None: there are enough.
        self._short_since_s: float | None = None
        # When the process of now told something last; None before it has.
        self._told_s: float | None = None
        # Counts and times of the last report, by vertex, for rates.
        self._before: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self._records_before: tuple[int, float] | None = None
        # The job that an earlier process ran.
        self._old_id = ""
        self._last_cause = ""

    # ---- what others ask

    def is_ready(self) -> bool:
        """Whether the job runs and its sources have their partitions."""
        job = self.job
        if job is None or not job.is_working:
            return False
        return job.reads_topics is False or (job.fetches and bool(job.positions) and not self.missing_partitions())

    def missing_partitions(self) -> list[TopicPartition]:
        """Partitions of the topics that it reads which no source has."""
        if self.job is None:
            return []
        topics = {topic for topic, _ in self.job.positions}
        wanted = [(topic, number) for topic in topics for number in range(self._partitions.get(topic, 0))]
        return sorted(set(wanted) - set(self.job.positions))

    def wanted_slots(self) -> int:
        """The slots that the job asks for and that no task manager has, for some seconds; 0 if there are enough."""
        if self.job is None or self._short_since_s is None or self._clock() - self._short_since_s < SHORT_S:
            return 0
        return max(0, self.job.width - self.slots)

    def reading(self) -> dict[str, dict[TopicPartition, int]]:
        """The next offset of every partition, by the name of the job; 0 where nothing is known to be read."""
        if self.job is None or self.job.state in _ENDED:
            return {}
        return {f"{self._engine}.{self.job.name}": dict(self.job.positions)}

    def is_settled(self) -> bool:
        """Whether everything that the job has read is behind it."""
        job = self.job
        if job is None or not job.is_working:
            return False
        now_s = self._clock()
        if self._has_checkpoints or job.checkpoint >= 0:
            covered = job.checkpoint_began_ms > job.changed_wall_ms
            return covered and now_s - job.checkpoint_seen_s >= COMMIT_S
        return now_s - job.changed_s >= STILL_S

    def silent_s(self) -> float:
        """How long nothing has been told of a job that goes on; 0 before its process has told anything."""
        has_ended = self.job is not None and self.job.state in _ENDED
        return 0.0 if self._told_s is None or has_ended else self._clock() - self._told_s

    @property
    def cause(self) -> str:
        """Why the job does not work, also after its process has ended; empty while it works."""
        return self._last_cause if self.job is None else self.job.cause

    def forget(self) -> None:
        """Note that its process has ended: what the next process runs is another job."""
        if self.job is not None:
            self._old_id = self.job.id
            self._last_cause = self.job.cause
        self.job = None
        self._told_s = None
        self._before.clear()
        self._records_before = None

    # ---- what the watch told

    def take(self, told: Mapping[str, Any]) -> None:
        """Take a report of the watch: events and samples follow from it."""
        overview = told.get("overview")
        if overview is None:
            return
        at_ns = int(told["at_ns"])
        self._told_s = self._clock()
        managers = int(overview.get("taskmanagers") or 0)
        self.slots = int(overview.get("slots-total") or 0)
        if managers != self.task_managers:
            self.task_managers = managers
            self._sample(SOURCE, self._engine, "task_managers", managers, at_ns=at_ns)
        found = told.get("job")
        if found is None or found["id"] == self._old_id:
            return
        if self.job is None or self.job.id != found["id"]:
            self._last_cause = ""
            self.job = JobState(str(found["id"]), short_name(str(found.get("name") or "job")))
        vertices = found["vertices"]
        self.job.width = max((int(one["parallelism"]) for one in vertices), default=0)
        self.job.reads_topics = told.get("reads_topics")
        self.job.fetches = bool(told.get("fetching"))
        self._follow(self.job, str(found.get("state")), vertices, told)
        if self.job.is_working or self.job.width <= self.slots:
            self._short_since_s = None
        elif self._short_since_s is None:
            self._short_since_s = self._clock()
        self._take_positions(self.job, told)
        self._take_checkpoints(self.job, told.get("checkpoints") or {}, at_ns)
        self._sample_vertices(vertices, told.get("watermarks") or {}, at_ns)
        self._sample_records(self.job, told.get("records") or {}, at_ns)

    def _follow(
        self, job: JobState, state: str, vertices: Sequence[Mapping[str, Any]], told: Mapping[str, Any]
    ) -> None:
        """Note what state the job is in, and tell when it begins to work and when it fails."""
        self._sample_count(job, "restarts", told.get("restarts"), int(told["at_ns"]))
        # The counter of restarts and the states of tasks are not of the same moment, these are.
        restarting_ms = int((told["job"].get("timestamps") or {}).get("RESTARTING") or 0)
        runs = state == "RUNNING" and bool(vertices) and all(map(has_all_tasks, vertices))
        has_failed = restarting_ms > job.restarting_ms or not (runs or state in _ENDED_WELL)
        job.restarting_ms = restarting_ms
        job.state = state
        trace = str(told.get("exception") or "")
        if trace and (has_failed or not job.is_working):
            job.cause = first_cause(trace)
        if has_failed and job.is_working:
            job.is_working = False
            self._event("query-failed", job, cause=job.cause)
        if runs and not job.is_working:
            job.is_working = True
            restored = ((told.get("checkpoints") or {}).get("latest") or {}).get("restored") or {}
            # The number of the checkpoint that it goes on from.
            details = {"restored": int(restored["id"])} if "id" in restored else {}
            self._event("query-started", job, **details)
            job.cause = ""

    def _take_positions(self, job: JobState, told: Mapping[str, Any]) -> None:
        """Note how far it has read. What was read last tells more than what was committed, if it is known."""
        positions = {
            (self._topics.get(topic, topic), int(number)): max(int(read) + 1, int(committed), 0)
            for topic, number, read, committed in told.get("offsets") or []
        }
        if positions != job.positions or not job.changed_wall_ms:
            job.positions = positions
            job.changed_wall_ms = int(told.get("wall_ms") or 0)
            job.changed_s = self._clock()

    def _take_checkpoints(self, job: JobState, told: Mapping[str, Any], at_ns: int) -> None:
        counts = told.get("counts") or {}
        self._sample_count(job, "checkpoints", counts.get("completed"), at_ns)
        self._sample_count(job, "checkpoints_failed", counts.get("failed"), at_ns)
        latest = (told.get("latest") or {}).get("completed")
        if not latest or int(latest["id"]) == job.checkpoint:
            return
        job.checkpoint = int(latest["id"])
        job.checkpoint_began_ms = int(latest.get("trigger_timestamp") or 0)
        job.checkpoint_seen_s = self._clock()
        for metric, value in (
            ("checkpoint_ms", latest.get("end_to_end_duration")),
            ("checkpoint_bytes", latest.get("state_size")),
        ):
            if value is not None:
                self._sample(SOURCE, self._engine, metric, float(value), at_ns=at_ns)

    def _sample_count(self, job: JobState, metric: str, value: float | None, at_ns: int) -> None:
        """Sample a count when it is first known, also if it is 0, and when it has changed."""
        if value is not None and job.counts.get(metric) != value:
            job.counts[metric] = value
            self._sample(SOURCE, self._engine, metric, float(value), at_ns=at_ns)

    def _sample_vertices(
        self, vertices: Sequence[Mapping[str, Any]], watermarks: Mapping[str, float], at_ns: int
    ) -> None:
        """Sample what each vertex did since the last report: the shares of time it was busy and held up."""
        for vertex in vertices:
            metrics = vertex.get("metrics") or {}
            name = str(vertex["name"])
            obj = f"{self._engine}.{short_name(name)}"
            before_ns, before = self._before.get(name, (0, {}))
            self._before[name] = (at_ns, metrics)
            width = max(1, int(vertex["parallelism"]))
            passed_ms = (at_ns - before_ns) / 1e6 * width
            for metric, key in (
                ("backpressure", "accumulated-backpressured-time"),
                ("busy", "accumulated-busy-time"),
            ):
                then, now = _number(before.get(key)), _number(metrics.get(key))
                if then is not None and now is not None and now >= then and passed_ms > 0:
                    self._sample(SOURCE, obj, metric, min(1.0, (now - then) / passed_ms), at_ns=at_ns)
            if name in watermarks:
                self._sample(SOURCE, obj, "watermark_s", watermarks[name] / 1000, at_ns=at_ns)

    def _sample_records(self, job: JobState, records: Mapping[str, float], at_ns: int) -> None:
        """Sample how many records the sources have read and the sinks have written, and the rate of the sources."""
        obj = f"{self._engine}.{job.name}"
        for metric in ("in", "out"):
            if metric in records:
                self._sample(SOURCE, obj, f"records_{metric}", float(records[metric]), at_ns=at_ns)
        if "in" in records:
            if self._records_before is not None and records["in"] >= self._records_before[1]:
                before_ns, before = self._records_before
                rate = (records["in"] - before) / max(1e-3, (at_ns - before_ns) / 1e9)
                self._sample(SOURCE, obj, "rows_a_second", rate, at_ns=at_ns)
            self._records_before = (at_ns, float(records["in"]))

    def _event(self, kind: str, job: JobState, **details: Any) -> None:
        self._tell(kind, component=self._engine, host=self.host, query=job.name, **details)


def short_name(name: str) -> str:
    """The name of a job or a vertex without the catalog that every table is in."""
    return _CATALOG.sub("", name)[:LONGEST_NAME]


def _number(value: Any) -> float | None:
    """A finite number of Flink, which writes NaN where it does not know; None for anything else."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
