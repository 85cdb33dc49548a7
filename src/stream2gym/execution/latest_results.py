"""The last messages of output topics and the last rows of stores, for people: as they change, and at the end.

They go into the record beside the values that consumers received (``record.latest_values``). No verdict rests on
them, so whatever cannot be read is missing there, and the run goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

from stream2gym.components.observer import Observer
from stream2gym.errors import StartFailed
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.record.folder import RunFolder
from stream2gym.record.latest_values import SUFFIX, LatestValues
from stream2gym.spec.model import Experiment

MOST_TOPICS = 12
MOST_MESSAGES = 8
READ_S = 3.0


def find_output_topics(experiment: Experiment) -> list[str]:
    """The topics that hold results: those that no producer of the experiment writes, and those that only consumers
    and sinks read."""
    written = {topic for producer in experiment.producers for topic in producer.topic_names()}
    inputs = {trace.from_ for trace in experiment.trace} - {trace.to for trace in experiment.trace}
    names = [topic.name for topic in experiment.topics]
    read: set[str] = set()
    for topics, pattern in [(one.topics, one.pattern) for one in experiment.consumers] + [
        (one.topics, one.pattern) for one in experiment.sinks
    ]:
        read |= {*topics, *(name for name in names if pattern and re.match(pattern, name))}
    return [name for name in names if name not in inputs and (name in read or name not in written)][:MOST_TOPICS]


def note_latest_messages(run: RunControl, components: RunComponents) -> None:
    """Record the last messages of output topics, as the observer reads them."""
    topics = find_output_topics(run.planned.experiment)
    observer = components.observer
    if not topics or observer is None or not components.has_running_broker():
        return
    note_at_end(run.folder, _read_messages(observer, topics))


def _read_messages(observer: Observer, topics: list[str]) -> list[dict[str, Any]]:
    try:
        messages = observer.query("latest", READ_S, topics=topics, most=MOST_MESSAGES)["messages"]
    except StartFailed:
        return []
    return [
        {"topic": topic, "partition": partition, "offset": offset, "key": key, "value": value}
        for topic in topics
        for partition, offset, _time_ms, key, value in messages.get(topic, ())
    ]


def note_at_end(folder: RunFolder, rows: Iterable[Mapping[str, Any]]) -> None:
    """Record rows as what the run ended with."""
    with closing(LatestValues(folder.raw / f"end{SUFFIX}")) as values:
        values.add([{"end": True, **row} for row in rows], time.monotonic_ns())


class StoreRows:
    """Records the last rows of stores as they change. The longer the run, the less often."""

    def __init__(self, folder: RunFolder) -> None:
        self._values = LatestValues(folder.raw / f"stores{SUFFIX}")
        # What has changed since the last write, by store and table.
        self._changed: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, report: Mapping[str, Any]) -> None:
        """Take a report of the client that asks the stores."""
        for store, told in report.get("found", {}).items():
            for table in told.get("latest", ()):
                self._changed[store, table["table"]] = {"store": store, **table}
        now_ns = int(report["at_ns"])
        if self._changed and self._values.is_due(now_ns):
            self._values.add(self._changed.values(), now_ns)
            self._changed.clear()

    def close(self) -> None:
        self._values.close()
