"""The view of the partitions, while some brokers repeat what was true before."""

from __future__ import annotations

from stream2gym.clients.kafka_protocol import Partition, Topic
from stream2gym.clients.partition_view import PartitionView

ALL = (1, 2, 3)


def told(epoch: int, leader: int, in_sync: tuple[int, ...] = ALL, id_: str = "x") -> dict[str, Topic]:
    return {"t": Topic(id_, {0: Partition(epoch, leader, ALL, in_sync)})}


def leader_of(changed: dict[tuple[str, int], Partition]) -> int:
    return changed["t", 0].leader


def test_the_first_answer_is_a_change_and_the_same_answer_of_others_is_none() -> None:
    view = PartitionView()
    assert leader_of(view.update(2, told(5, 1))) == 1
    assert not view.update(1, told(5, 1))
    assert not view.update(3, told(5, 1))


def test_a_broker_that_is_cut_off_does_not_bring_back_the_leader_that_was() -> None:
    view = PartitionView()
    view.update(1, told(5, 1))
    assert leader_of(view.update(2, told(6, 2, (2, 3)))) == 2
    assert not view.update(1, told(5, 1))
    assert not view.update(1, told(5, 1, (1,)))


def test_without_another_leader_only_the_leaders_answer_counts() -> None:
    view = PartitionView()
    view.update(1, told(5, 1))
    assert not view.update(2, told(5, 1, (1, 2)))
    assert view.update(1, told(5, 1, (1, 2)))["t", 0].in_sync == (1, 2)
    assert not view.update(3, told(5, 1))


def test_any_broker_may_say_that_nobody_leads() -> None:
    view = PartitionView()
    view.update(1, told(5, 1, (1,)))
    assert leader_of(view.update(3, told(6, -1, (1,)))) == -1


def test_a_topic_that_is_made_again_begins_anew_whatever_others_still_say() -> None:
    view = PartitionView()
    for node in ALL:
        view.update(node, told(5, 1))
    assert not view.update(2, {})
    assert leader_of(view.update(2, told(0, 3, id_="y"))) == 3
    assert not view.update(1, told(5, 1))
    assert not view.update(1, told(0, 3, id_="y"))


def test_a_topic_that_was_made_again_between_two_answers_is_another_one() -> None:
    view = PartitionView()
    view.update(1, told(5, 1))
    assert leader_of(view.update(1, told(0, 2, id_="y"))) == 2
