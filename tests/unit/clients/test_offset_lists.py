"""A leader that does not answer hides the offsets of its own partitions, and of no other."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from stream2gym.clients.offset_lists import EARLIEST, NO_LEADER, list_offsets


class Cluster:
    """Answers like the library: a question about several partitions is answered when all of their leaders answer."""

    def __init__(
        self, leaders: dict[int, int], silent: set[int] | None = None, refusing: set[int] | None = None
    ) -> None:
        self.leaders = leaders
        self.silent = silent or set()
        self.refusing = refusing or set()

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> dict[Any, Future[Any]]:
        assert request_timeout > 0
        leaders = {self.leaders[place.partition] for place in asked}
        answers: dict[Any, Future[Any]] = {}
        for place, which in asked.items():
            future = answers[place] = Future()
            if leaders & self.refusing:
                future.set_exception(KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION, "moved")))
            elif not leaders & self.silent:
                future.set_result(SimpleNamespace(offset=0 if which is EARLIEST else 100 + place.partition))
        return answers


def ask(
    cluster: Cluster, leaders: dict[int, int], timeout_s: float = 5.0, patience_s: float = 0.05
) -> dict[str, Any]:
    places = {("t", number): leader for number, leader in leaders.items()}
    return list_offsets(cast(AdminClient, cluster), places, timeout_s, patience_s)


def test_every_partition_has_its_start_and_its_end() -> None:
    leaders = {0: 1, 1: 2}
    found = ask(Cluster(leaders), leaders)
    assert found["offsets"] == [["t", 0, 0, 100], ["t", 1, 0, 101]]
    assert found["unknown"] == {}


def test_a_silent_leader_hides_its_own_partitions_only() -> None:
    leaders = {0: 1, 1: 2, 2: 2}
    found = ask(Cluster(leaders, silent={1}), leaders)
    assert found["offsets"] == [["t", 1, 0, 101], ["t", 2, 0, 102]]
    assert found["unknown"] == {"t/0": "its leader does not answer"}


def test_a_partition_without_a_leader_is_not_asked_for() -> None:
    found = ask(Cluster({1: 2}), {0: -1, 1: 2})
    assert found["offsets"] == [["t", 1, 0, 101]]
    assert found["unknown"] == {"t/0": NO_LEADER}


def test_what_a_leader_refuses_is_unknown_with_its_words() -> None:
    leaders = {0: 1, 1: 2}
    found = ask(Cluster(leaders, refusing={2}), leaders)
    assert found["offsets"] == [["t", 0, 0, 100]]
    assert found["unknown"] == {"t/1": "moved"}


def test_where_nobody_answers_everything_is_unknown_when_the_time_is_up() -> None:
    leaders = {0: 1, 1: 2}
    found = ask(Cluster(leaders, silent={1, 2}), leaders, timeout_s=0.05)
    assert found["offsets"] == []
    assert set(found["unknown"]) == {"t/0", "t/1"}
