"""Where partitions begin and end, asked of each leader by itself, so that a dead leader does not hide the others.

The library answers a question about several partitions when all leaders have answered or the time is up. Therefore
every leader gets questions of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from stream2gym.clients.error_words import describe_kafka_error
from stream2gym.clients.partition_view import Place

EARLIEST, LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
NO_LEADER = "it has no leader"


class OffsetQuestions:
    """The open questions about one end of the partitions, and when the last answer came."""

    def __init__(
        self, client: AdminClient, leaders: Mapping[Place, int], which: OffsetSpec, timeout_s: float
    ) -> None:
        self.asked_ns = time.monotonic_ns()
        self.answered_ns = self.asked_ns
        self.futures: dict[Place, Future[Any]] = {}
        for leader in sorted(set(leaders.values())):
            places = {TopicPartition(*place): which for place, leads in leaders.items() if leads == leader}
            for place, future in client.list_offsets(places, request_timeout=timeout_s).items():
                future.add_done_callback(self._note_answer)
                self.futures[place.topic, place.partition] = future

    def _note_answer(self, future: Future[Any]) -> None:
        if future.exception() is None:
            self.answered_ns = max(self.answered_ns, time.monotonic_ns())

    def read(self, unknown: dict[str, str]) -> dict[Place, int]:
        """The offsets that were told. The other partitions go to ``unknown`` with the reason."""
        found = {}
        for place, future in self.futures.items():
            error = future.exception() if future.done() else TimeoutError("its leader does not answer")
            if error is None:
                found[place] = int(future.result().offset)
            else:
                unknown[f"{place[0]}/{place[1]}"] = describe_kafka_error(error)
        return found


def list_offsets(
    client: AdminClient, leaders: Mapping[Place, int], timeout_s: float, patience_s: float
) -> dict[str, Any]:
    """The answer to the request ``offsets`` about partitions with these leaders, of which -1 is none.

    Once a leader has answered, the others have ``patience_s`` left.
    """
    unknown = {f"{topic}/{number}": NO_LEADER for (topic, number), leader in leaders.items() if leader < 0}
    led = {place: leader for place, leader in leaders.items() if leader >= 0}
    starts = OffsetQuestions(client, led, EARLIEST, timeout_s)
    ends = OffsetQuestions(client, led, LATEST, timeout_s)
    futures = [*starts.futures.values(), *ends.futures.values()]
    began = time.monotonic()
    wait(futures, timeout_s, return_when=FIRST_COMPLETED)
    left_s = max(0.0, timeout_s - (time.monotonic() - began))
    wait(futures, min(left_s, patience_s))
    first, last = starts.read(unknown), ends.read(unknown)
    return {
        "offsets": [[*place, first[place], last[place]] for place in led if place in first and place in last],
        "unknown": unknown,
        "at_ns": (ends.asked_ns + ends.answered_ns) // 2,
    }
