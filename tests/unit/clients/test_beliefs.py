"""What is true of the partitions, when some brokers answer with what was."""

from __future__ import annotations

from stream2gym.clients.beliefs import Beliefs
from stream2gym.clients.rawkafka import Partition, Topic

ALL = (1, 2, 3)


def told(epoch: int, leader: int, in_sync: tuple[int, ...] = ALL, id_: str = "x") -> dict[str, Topic]:
    return {"t": Topic(id_, {0: Partition(epoch, leader, ALL, in_sync)})}


def leader_of(changed: dict[tuple[str, int], Partition]) -> int:
    return changed["t", 0].leader


def test_the_first_answer_is_believed_and_said_once() -> None:
    beliefs = Beliefs()
    assert leader_of(beliefs.hear(2, told(5, 1))) == 1
    assert not beliefs.hear(1, told(5, 1))
    assert not beliefs.hear(3, told(5, 1))


def test_a_broker_that_is_cut_off_does_not_bring_back_the_leader_that_was() -> None:
    beliefs = Beliefs()
    beliefs.hear(1, told(5, 1))
    assert leader_of(beliefs.hear(2, told(6, 2, (2, 3)))) == 2
    assert not beliefs.hear(1, told(5, 1))
    assert not beliefs.hear(1, told(5, 1, (1,)))


def test_without_another_leader_only_the_leaders_word_counts() -> None:
    beliefs = Beliefs()
    beliefs.hear(1, told(5, 1))
    assert not beliefs.hear(2, told(5, 1, (1, 2)))
    assert beliefs.hear(1, told(5, 1, (1, 2)))["t", 0].in_sync == (1, 2)
    assert not beliefs.hear(3, told(5, 1))


def test_that_nobody_leads_is_believed_of_anybody() -> None:
    beliefs = Beliefs()
    beliefs.hear(1, told(5, 1, (1,)))
    assert leader_of(beliefs.hear(3, told(6, -1, (1,)))) == -1


def test_a_topic_that_is_made_again_begins_anew_whatever_others_still_believe() -> None:
    beliefs = Beliefs()
    for node in ALL:
        beliefs.hear(node, told(5, 1))
    assert not beliefs.hear(2, {})
    assert leader_of(beliefs.hear(2, told(0, 3, id_="y"))) == 3
    assert not beliefs.hear(1, told(5, 1))
    assert not beliefs.hear(1, told(0, 3, id_="y"))


def test_a_topic_that_was_made_again_between_two_answers_is_another_one() -> None:
    beliefs = Beliefs()
    beliefs.hear(1, told(5, 1))
    assert leader_of(beliefs.hear(1, told(0, 2, id_="y"))) == 2
