"""How far groups are behind that read from queues of RabbitMQ, and what is left at the end."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from stream2gym.components.observer import Question
from stream2gym.components.rabbitmq_cluster import GroupQueue
from stream2gym.components.status_lines import ClientStatus
from stream2gym.execution.drain import STILL_S, Drain
from stream2gym.execution.queue_tracker import LEAVE_S, QueueTracker, count_acknowledged, find_queue_ends
from stream2gym.record.acknowledged import Acknowledged
from stream2gym.spec.model import Experiment

QUEUE = GroupQueue("in", "g", "in.g", "quorum")
STREAM = GroupQueue("log", "g", "log", "stream")


class FakeObserver:
    """Answers every question at once, with what the test says."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def ask(self, operation: str, **request: Any) -> Question:
        question = Question(operation)
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        question.came(answer if "error" in answer else {"ok": {"at_ns": 1, "unknown": {}, **answer}})
        return question

    def query(self, operation: str, timeout_s: float, **request: Any) -> dict[str, Any]:
        return self.ask(operation, **request).result()


def state(ready: int = 0, consumers: int = 0, end: int = 0) -> dict[str, int]:
    return {"ready": ready, "consumers": consumers, "end": end}


def tracker(observer: FakeObserver, *queues: GroupQueue, received: int = 0, acked: int = 0) -> Any:
    seen, sent = ClientStatus(), ClientStatus()
    seen.update({"event": "progress", "received": received, "positions": [["log", 0, received]]})
    sent.update({"event": "progress", "acked": acked})
    consumer = SimpleNamespace(groups=["g"], statuses=[seen], topics=["in"])
    producer = SimpleNamespace(name="gen", statuses=[sent])
    experiment = Experiment.model_validate({"producers": [{"name": "gen", "topic": "in"}], "topics": ["in"]})
    made: Any = QueueTracker(observer, experiment, queues, [consumer], [producer])  # type: ignore[arg-type,list-item]
    made._next_question_s = 0.0
    return made


def polled(made: Any) -> int | None:
    """What the tracker says after its first answer."""
    made.poll()
    return made.poll()  # type: ignore[no-any-return]


def test_what_is_ready_is_the_lag_of_the_group() -> None:
    made = tracker(FakeObserver({"queues": {"in.g": state(ready=7)}}), QUEUE)
    assert polled(made) == 7
    assert made.lag == {"g": 7}
    assert made.total_lag == 7


def test_of_a_stream_the_lag_is_what_lies_behind_the_position() -> None:
    made = tracker(FakeObserver({"queues": {"log": state(end=10)}}), STREAM, received=4)
    assert polled(made) == 6


def test_a_queue_that_nobody_knows_leaves_the_lag_unknown() -> None:
    silent = FakeObserver({"queues": {}, "unknown": {"in.g": "no answer"}})
    assert polled(tracker(silent, QUEUE)) is None
    assert polled(tracker(FakeObserver({"error": "the admin client has ended"}), QUEUE)) is None


def test_messages_are_counted_only_where_each_producer_has_one_topic() -> None:
    def experiment(**producer: Any) -> Experiment:
        return Experiment.model_validate({"producers": [{"name": "gen", **producer}]})

    assert count_acknowledged(experiment(topic="in"), {"gen": 5}) == {"in": 5}
    assert count_acknowledged(experiment(topics=["a", "b"]), {"gen": 5}) is None
    assert count_acknowledged(experiment(topic="in", acks=0), {"gen": 5}) is None
    assert count_acknowledged(experiment(topic="in", type="CUSTOM", app="x"), {}) is None


def drain_of(made: Any, clock: Callable[[], float]) -> Drain:
    return Drain(made, Acknowledged(), clock)


def test_the_drain_is_over_when_nothing_is_ready_and_all_was_received() -> None:
    made = tracker(FakeObserver({"queues": {"in.g": state()}}), QUEUE, received=5, acked=5)
    drain = drain_of(made, lambda: 0.0)
    drain.over()
    assert drain.over()


def test_an_empty_queue_is_not_the_end_while_messages_may_be_unacknowledged() -> None:
    now = 0.0
    made = tracker(FakeObserver({"queues": {"in.g": state()}}), QUEUE, received=4, acked=5)
    drain = drain_of(made, lambda: now)
    drain.over()
    assert not drain.over(), "a consumer may hold the fifth"
    now = STILL_S + 1
    assert drain.over(), "nothing came for a while"


def test_what_is_left_is_asked_when_the_consumers_have_left() -> None:
    observer = FakeObserver({"queues": {"in.g": state(consumers=2)}}, {"queues": {"in.g": state(ready=3)}})
    slept: list[float] = []
    found, unknown = find_queue_ends(observer, [QUEUE], clock=lambda: 0.0, sleep=slept.append)  # type: ignore[arg-type]
    assert (found["in.g"]["ready"], unknown) == (3, {})
    assert len(slept) == 1
    assert observer.asked[0]["certain"]


def test_consumers_that_do_not_leave_may_hold_messages_so_that_nobody_knows_what_is_left() -> None:
    times = iter([0.0, LEAVE_S + 1])
    observer = FakeObserver({"queues": {"in.g": state(consumers=1)}})
    found, unknown = find_queue_ends(observer, [QUEUE], clock=lambda: next(times))  # type: ignore[arg-type]
    assert found == {}
    assert "have not left it" in unknown["in.g"]


def test_a_queue_that_cannot_be_asked_stays_unknown() -> None:
    times = iter([0.0, LEAVE_S + 1])
    observer = FakeObserver({"queues": {}, "unknown": {"in.g": "10.0.0.1:5672: no answer in time"}})
    found, unknown = find_queue_ends(observer, [QUEUE], clock=lambda: next(times))  # type: ignore[arg-type]
    assert (found, unknown) == ({}, {"in.g": "10.0.0.1:5672: no answer in time"})
