"""How far groups are behind: looks at Kafka against words of consumers."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from stream2gym.components.words import ClientWords
from stream2gym.gymlife.drain import Backlog, Drain, LagMonitor, all_readable
from stream2gym.gymlife.lag import Look, Position, end_at, lag

T0 = ("t", 0)


def looks(*ends: int, every_ns: int = 100) -> list[Look]:
    return [Look(n * every_ns, {T0: (0, end)}) for n, end in enumerate(ends)]


def test_a_position_is_held_against_the_end_of_its_own_moment() -> None:
    seen = looks(0, 1000, 2000)
    assert end_at(seen, T0, 150) == 1500
    assert lag(seen, ["t"], {T0: Position(150, 1490)}) == 10


def test_a_consumer_that_fell_silent_is_held_against_the_newest_end() -> None:
    assert lag(looks(0, 1000, 2000)[1:], ["t"], {T0: Position(50, 400)}) == 1600


def test_a_position_after_the_last_look_is_never_ahead_of_the_end() -> None:
    assert lag(looks(0, 1000), ["t"], {T0: Position(170, 1600)}) == 0


def test_a_partition_that_nobody_read_counts_from_its_first_offset() -> None:
    assert lag([Look(0, {T0: (30, 100), ("u", 0): (0, 7)})], ["t"], {}) == 70


class FakeObserver:
    """Answers at once with the next of its answers."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)

    def ask(self, _operation: str, **_request: Any) -> Any:
        answer = self.answers.pop(0)
        return SimpleNamespace(done=True, result=lambda: answer)


def offsets(at_ns: int, *rows: list[Any], unknown: dict[str, str] | None = None) -> dict[str, Any]:
    return {"offsets": list(rows), "unknown": unknown or {}, "at_ns": at_ns}


def backlog_of(*answers: dict[str, Any]) -> tuple[Backlog, ClientWords]:
    words = ClientWords()
    consumer: Any = SimpleNamespace(groups=["g"], words=[words], topics=["t"])
    observer: Any = FakeObserver(*answers)
    return Backlog(observer, [consumer]), words


def test_every_look_at_kafka_becomes_one_sample_of_each_group(monkeypatch: Any) -> None:
    clock = iter(range(0, 100, 1))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    backlog, words = backlog_of(
        offsets(1000, ["t", 0, 0, 50]), offsets(2000, ["t", 0, 0, 80]), offsets(3000, ["t", 0, 0, 80])
    )
    words.hear({"event": "progress", "at_ns": 1000, "positions": [["t", 0, 20]]})
    samples: list[tuple[Any, ...]] = []
    monitor = LagMonitor(lambda: backlog, lambda *words, at_ns: samples.append((*words, at_ns)))
    monitor.look()
    assert samples == []
    monitor.look()
    assert samples == [("client", "g", "lag", 30, 1000)]
    words.hear({"event": "progress", "at_ns": 2000, "positions": [["t", 0, 75]]})
    monitor.look()
    assert samples[1:] == [("client", "g", "lag", 5, 2000)]
    assert backlog.total_lag == 5


def test_without_a_leader_the_last_known_end_counts_and_the_drain_does_not_end(monkeypatch: Any) -> None:
    clock = iter(range(0, 100, 1))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    backlog, words = backlog_of(
        offsets(1000, ["t", 0, 0, 50]), offsets(2000, unknown={"t/0": "no leader"}), offsets(3000)
    )
    words.hear({"event": "progress", "at_ns": 900, "positions": [["t", 0, 50]]})
    assert backlog.look() is None
    assert backlog.look() == 0
    words.hear({"event": "progress", "at_ns": 1900, "positions": []})
    assert backlog.look() is None
    assert (backlog.lag, backlog.lag_ns) == ({"g": 0}, 2000)


def test_a_run_without_readers_has_no_lag() -> None:
    samples: list[Any] = []
    LagMonitor(lambda: None, lambda *words, **_more: samples.append(words)).look()
    assert samples == []


def writer(acknowledged: int, *topics: str) -> Any:
    return SimpleNamespace(topics=list(topics), acknowledged=acknowledged)


def test_what_was_acknowledged_and_cannot_be_read_yet_is_missed() -> None:
    assert all_readable({"t": 16}, [writer(8, "t"), writer(8, "t")])
    assert not all_readable({"t": 3}, [writer(8, "t"), writer(8, "t")])


def test_who_writes_where_nobody_reads_does_not_count() -> None:
    assert all_readable({"t": 5}, [writer(5, "t"), writer(100, "elsewhere"), writer(7, "t", "elsewhere")])
    assert all_readable({}, [])


class FakeBacklog:
    """Whoever reads has read all there is."""

    def __init__(self) -> None:
        self.ends: dict[str, int] = {"t": 0}

    def look(self) -> int:
        return 0


def test_a_drain_waits_until_what_was_acknowledged_can_be_read() -> None:
    backlog: Any = FakeBacklog()
    now = [0.0]
    drain = Drain(backlog, [writer(13, "t")], clock=lambda: now[0])
    assert not drain.over()
    now[0] = 1.0
    backlog.ends = {"t": 13}
    assert drain.over()


def test_a_drain_ends_when_what_was_lost_does_not_come() -> None:
    backlog: Any = FakeBacklog()
    now = [0.0]
    drain = Drain(backlog, [writer(13, "t")], clock=lambda: now[0])
    assert not drain.over()
    now[0] = 2.0
    backlog.ends = {"t": 5}
    assert not drain.over()
    now[0] = 4.9
    assert not drain.over()
    now[0] = 5.1
    assert drain.over()
