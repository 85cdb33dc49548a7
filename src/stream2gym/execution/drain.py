"""Phase ``drain``: after the load, until everything that was written has been read.

What consumers have not read at the end of the drain is in flight.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from stream2gym.components.topics import TopicPartition
from stream2gym.execution.drive_load import Load, make_tracker
from stream2gym.execution.end_load import let_programs_end
from stream2gym.execution.lag_tracker import LagTracker, TopicReader
from stream2gym.execution.queue_tracker import QueueTracker
from stream2gym.execution.run_control import RunControl

if TYPE_CHECKING:
    from stream2gym.record.acknowledged import Acknowledged

# Longer than a follower pauses after a failure.
STILL_S = 3.0


def drain(run: RunControl, load: Load) -> None:
    """Wait until the drain is over, at most as long as the experiment allows; then stop the programs that consume.

    Observed programs are waited for like consumers. How far other programs are is not known, so they have their grace
    period.
    """
    run.recorder.phase("drain")
    _wait_for_readers(run, load)
    load.is_drained = True
    let_programs_end(run, load.components.consuming_programs(), time.monotonic_ns())


def _wait_for_readers(run: RunControl, load: Load) -> None:
    """Wait until consumers, engines, sinks and observed programs have read all, as long as the drain may take."""
    drain_s = float(run.planned.experiment.drain)
    components = load.components
    # What Kafka said before the load ended does not count.
    lag_tracker = load.lag_tracker = make_tracker(components, looks_behind=True)
    # How far an engine is that reads a socket nobody tells, so it has to stand still for a while.
    still = Stillness(components.topic_readers(), STILL_S if components.line_sources else 0.0)
    if lag_tracker is None:
        run.waiter.wait_at_most(drain_s, still.holds)
        return
    from stream2gym.record.acknowledged import read_acknowledged  # PyArrow, as for the seal

    progress = Drain(lag_tracker, read_acknowledged(run.folder.raw))

    def is_over() -> bool:
        has_read_all = progress.over() and (not components.line_sources or still.holds())
        return has_read_all or not components.has_running_broker()

    run.waiter.wait_at_most(drain_s, is_over)
    for group, partitions in lag_tracker.read_to_end().items():
        run.recorder.tell("read-to-end", group=group, partitions=partitions)
    run.recorder.tell("drained", complete=progress.complete, behind=lag_tracker.behind)


class Stillness:
    """Tells whether all readers have had nothing to do for some time without a break."""

    def __init__(
        self, readers: Sequence[TopicReader], wanted_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._readers = readers
        self._wanted_s = wanted_s
        self._clock = clock
        self._since_s: float | None = None

    def holds(self) -> bool:
        """Look at the readers once more."""
        if not all(reader.settled() for reader in self._readers):
            self._since_s = None
            return False
        if self._since_s is None:
            self._since_s = self._clock()
        return self._clock() - self._since_s >= self._wanted_s


class Drain:
    """Tells whether the drain is over: everything has been read, and nothing more will become readable.

    A message that one broker alone has acknowledged (acks=1) can be read when the followers have it, too, up to
    seconds later. A message that never can be read was lost: then the ends of the partitions stand still.
    """

    def __init__(
        self,
        lag_tracker: LagTracker | QueueTracker,
        acknowledged: Acknowledged,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lag_tracker = lag_tracker
        self._acknowledged = acknowledged
        self._clock = clock
        self._ends: dict[TopicPartition, int] = {}
        self._since_s = clock()
        self.complete = False

    def over(self) -> bool:
        """Poll the lag once more; True when everything has been read."""
        behind, ends = self._lag_tracker.poll(), self._lag_tracker.ends
        if ends != self._ends:
            self._ends = ends
            self._since_s = self._clock()
        stands_still = self._clock() - self._since_s >= STILL_S
        self.complete = behind == 0 and (self._has_all(ends) or stands_still)
        return self.complete

    def _has_all(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Whether nothing more can become readable."""
        if isinstance(self._lag_tracker, QueueTracker):
            return self._lag_tracker.has_all_received()
        return all_readable(ends, self._acknowledged)


def all_readable(ends: Mapping[TopicPartition, int], acknowledged: Acknowledged) -> bool:
    """Whether every partition reaches beyond its last acknowledged message.

    ``ends`` are the end offsets of all partitions of the topics that are read; other topics do not count. The answer
    is False while it cannot be known: messages without acknowledgements may still be under way.
    """
    topics = {topic for topic, _ in ends}
    if acknowledged.has_gaps or acknowledged.unconfirmed & topics:
        return False
    return all(ends.get(place, 0) >= end for place, end in acknowledged.ends.items() if place[0] in topics)
