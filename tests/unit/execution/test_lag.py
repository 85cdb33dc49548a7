"""How far groups are behind: snapshots of Kafka's offsets against positions of consumers."""

from __future__ import annotations

import time
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.components.status_lines import ClientStatus
from stream2gym.errors import StartFailed
from stream2gym.execution.drain import Drain, Stillness, all_readable
from stream2gym.execution.lag import OffsetSnapshot, Position, end_at, lag
from stream2gym.execution.lag_tracker import LagMonitor, LagTracker
from stream2gym.record.acknowledged import Acknowledged
from stream2gym.record.program_record import GroupReading

T0 = ("t", 0)


def snapshots(*ends: int, every_ns: int = 100) -> list[OffsetSnapshot]:
    return [OffsetSnapshot(n * every_ns, {T0: (0, end)}) for n, end in enumerate(ends)]


def test_a_position_is_held_against_the_end_of_its_own_moment() -> None:
    seen = snapshots(0, 1000, 2000)
    assert end_at(seen, T0, 150) == 1500
    assert lag(seen, ["t"], {T0: Position(150, 1490)}) == 10


def test_a_consumer_that_fell_silent_is_held_against_the_newest_end() -> None:
    assert lag(snapshots(0, 1000, 2000)[1:], ["t"], {T0: Position(50, 400)}) == 1600


def test_a_position_after_the_last_look_is_never_ahead_of_the_end() -> None:
    assert lag(snapshots(0, 1000), ["t"], {T0: Position(170, 1600)}) == 0


def test_a_partition_that_nobody_read_counts_from_its_first_offset() -> None:
    assert lag([OffsetSnapshot(0, {T0: (30, 100), ("u", 0): (0, 7)})], ["t"], {}) == 70


class FakeObserver:
    """Answers at once with the next of its answers."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)

    def ask(self, _operation: str, **_request: Any) -> Any:
        if not self.answers:
            return SimpleNamespace(done=False)
        answer = self.answers.pop(0)
        return SimpleNamespace(done=True, result=lambda: answer)


def offsets(at_ns: int, *rows: list[Any], unknown: dict[str, str] | None = None) -> dict[str, Any]:
    return {"offsets": list(rows), "unknown": unknown or {}, "at_ns": at_ns}


def lag_tracker_of(*answers: dict[str, Any]) -> tuple[LagTracker, ClientStatus]:
    status = ClientStatus()
    consumer: Any = SimpleNamespace(groups=["g"], statuses=[status], topics=["t"])
    observer: Any = FakeObserver(*answers)
    return LagTracker(observer, [consumer]), status


def test_every_look_at_kafka_becomes_one_sample_of_each_group(monkeypatch: Any) -> None:
    clock = iter(range(0, 100, 1))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    lag_tracker, status = lag_tracker_of(
        offsets(1000, ["t", 0, 0, 50]), offsets(2000, ["t", 0, 0, 80]), offsets(3000, ["t", 0, 0, 80])
    )
    status.update({"event": "progress", "at_ns": 1000, "positions": [["t", 0, 20]]})
    samples: list[tuple[Any, ...]] = []
    monitor = LagMonitor(lambda: lag_tracker, lambda *sample, at_ns: samples.append((*sample, at_ns)))
    monitor.look()
    assert samples == []
    monitor.look()
    assert samples == [("client", "g", "lag", 30, 1000)]
    status.update({"event": "progress", "at_ns": 2000, "positions": [["t", 0, 75]]})
    monitor.look()
    assert samples[1:] == [("client", "g", "lag", 5, 2000)]
    monkeypatch.setattr(time, "monotonic_ns", lambda: 2500)
    assert lag_tracker.total_lag == 5
    # What nobody has told for a while is not shown as if it were so.
    monkeypatch.setattr(time, "monotonic_ns", lambda: 2_000 + 2_100_000_000)
    assert lag_tracker.total_lag is None


def test_without_a_leader_the_last_known_end_counts_and_the_drain_does_not_end(monkeypatch: Any) -> None:
    clock = iter(range(0, 100, 1))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    lag_tracker, status = lag_tracker_of(
        offsets(1000, ["t", 0, 0, 50]), offsets(2000, unknown={"t/0": "no leader"}), offsets(3000)
    )
    status.update({"event": "progress", "at_ns": 900, "positions": [["t", 0, 50]]})
    assert lag_tracker.poll() is None
    assert lag_tracker.poll() == 0
    status.update({"event": "progress", "at_ns": 1900, "positions": []})
    assert lag_tracker.poll() is None
    assert (lag_tracker.lag, lag_tracker.lag_ns) == ({"g": 0}, 2000)


def test_an_engine_that_commits_has_read_what_its_group_has_committed(monkeypatch: Any) -> None:
    """Which topics the group reads is known from what it holds and what it has committed, internal ones included."""
    clock = iter(range(0, 100, 1))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    first = offsets(1000, ["t", 0, 0, 50]) | {"committed": {"app": [["t", 0, 20], ["app-repartition", 0, 7]]}}
    second = offsets(2000, ["t", 0, 0, 50], ["app-repartition", 0, 0, 9])
    third = offsets(3000, ["t", 0, 0, 50], ["app-repartition", 0, 0, 9])
    second |= {"committed": {"app": [["t", 0, 50], ["app-repartition", 0, 7]]}}
    third |= {"committed": {"app": [["t", 0, 50], ["app-repartition", 0, 9]]}}
    reader: Any = SimpleNamespace(
        reading=lambda: {"app": {T0: 0}}, settled=lambda: True, committing_groups=lambda: ["app"]
    )
    observer: Any = FakeObserver(first, second, third)
    lag_tracker = LagTracker(observer, [], [reader])
    assert lag_tracker.poll() is None
    assert lag_tracker.poll() is None, "the end of the internal topic has not been asked for"
    assert lag_tracker.poll() == 2
    assert lag_tracker.poll() == 0


def test_an_engine_that_has_committed_nothing_has_all_that_it_holds_before_it(monkeypatch: Any) -> None:
    clock = iter(range(0, 100, 1))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    reader: Any = SimpleNamespace(
        reading=lambda: {"app": {T0: 0}}, settled=lambda: True, committing_groups=lambda: ["app"]
    )
    observer: Any = FakeObserver(offsets(1000, ["t", 0, 30, 50]) | {"committed": {"app": []}}, offsets(2000))
    lag_tracker = LagTracker(observer, [], [reader])
    assert lag_tracker.poll() is None
    assert lag_tracker.poll() == 20


def test_a_run_without_readers_has_no_lag() -> None:
    samples: list[Any] = []
    LagMonitor(lambda: None, lambda *sample, **_more: samples.append(sample)).look()
    assert samples == []


IN = Acknowledged({T0: 13})


def test_what_was_acknowledged_and_cannot_be_read_yet_is_missed() -> None:
    acknowledged = Acknowledged({T0: 8, ("t", 1): 8})
    assert all_readable({T0: 8, ("t", 1): 8}, acknowledged)
    assert not all_readable({T0: 8, ("t", 1): 3}, acknowledged)


def test_duplicates_markers_and_foreign_messages_do_not_stand_in_for_acknowledged_ones() -> None:
    """Partition 0 holds 1,000 more than anybody counted; 13 acknowledged messages of partition 1 are not there."""
    acknowledged = Acknowledged({T0: 500, ("t", 1): 513})
    assert not all_readable({T0: 1500, ("t", 1): 500}, acknowledged)
    assert all_readable({T0: 1500, ("t", 1): 513}, acknowledged)


def test_what_was_written_where_nobody_reads_does_not_count() -> None:
    assert all_readable({T0: 5}, Acknowledged({T0: 5, ("elsewhere", 0): 100}, {"elsewhere"}))
    assert all_readable({}, Acknowledged())


def test_messages_without_acknowledgements_may_still_be_under_way() -> None:
    assert not all_readable({T0: 5}, Acknowledged({}, {"t"}))
    assert not all_readable({T0: 5}, Acknowledged({T0: 5}, has_gaps=True))


class FakeLagTracker:
    """Whoever reads has read all there is."""

    def __init__(self) -> None:
        self.ends = {T0: 0}
        self.behind = 0

    def poll(self) -> int:
        return self.behind


def drain_at(acknowledged: Acknowledged) -> tuple[Drain, Any, list[float]]:
    lag_tracker: Any = FakeLagTracker()
    now = [0.0]
    return Drain(lag_tracker, acknowledged, clock=lambda: now[0]), lag_tracker, now


def test_a_drain_waits_until_what_was_acknowledged_can_be_read() -> None:
    drain, lag_tracker, now = drain_at(IN)
    assert not drain.over()
    now[0] = 1.0
    lag_tracker.ends = {T0: 13}
    assert drain.over()
    assert drain.complete


def test_a_drain_is_not_over_while_a_group_is_behind_however_long_topics_stand_still() -> None:
    drain, lag_tracker, now = drain_at(IN)
    lag_tracker.ends, lag_tracker.behind = {T0: 13}, 1
    assert not drain.over()
    now[0] = 100.0
    assert not drain.over()
    assert not drain.complete


def test_a_drain_ends_when_what_was_lost_does_not_come() -> None:
    drain, lag_tracker, now = drain_at(IN)
    assert not drain.over()
    now[0] = 2.0
    lag_tracker.ends = {T0: 5}
    assert not drain.over()
    now[0] = 4.9
    assert not drain.over()
    now[0] = 5.1
    assert drain.over()


def test_a_consumer_that_fell_silent_between_two_looks_is_behind_by_all_that_came_since() -> None:
    seen = snapshots(0, 500, 1000, 1500, 2000, every_ns=500_000_000)
    assert lag(seen, ["t"], {T0: Position(500_000_000, 500)}) == 1500


def member(group: str, *said: dict[str, Any]) -> Any:
    status = ClientStatus()
    for one in said:
        status.update(one)
    return SimpleNamespace(groups=[group], statuses=[status], topics=["t"])


def assigned(at: int) -> dict[str, Any]:
    return {"event": "assigned", "at_ns": 1, "partitions": [["t", 0, at]]}


def look_twice(lag_tracker: LagTracker, monkeypatch: Any) -> int | None:
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    lag_tracker.poll()
    return lag_tracker.poll()


def test_the_member_that_holds_a_partition_says_where_its_group_is(monkeypatch: Any) -> None:
    """The first one read to 90, lost the partition without a commit; the second one reads from 40 on."""
    revoked = {"event": "revoked", "at_ns": 2, "partitions": [["t", 0]]}
    far = {"event": "progress", "at_ns": 2, "positions": [["t", 0, 90]]}
    observer: Any = FakeObserver(offsets(3, ["t", 0, 0, 90]), offsets(4, ["t", 0, 0, 90]))
    members = [member("g", assigned(0), far, revoked), member("g", assigned(40))]
    assert look_twice(LagTracker(observer, members), monkeypatch) == 50
    observer = FakeObserver(offsets(3, ["t", 0, 0, 90]), offsets(4, ["t", 0, 0, 90]))
    assert look_twice(LagTracker(observer, members[::-1]), monkeypatch) == 50


def test_one_group_at_the_end_does_not_speak_for_another(monkeypatch: Any) -> None:
    observer: Any = FakeObserver(offsets(3, ["t", 0, 0, 90]), offsets(4, ["t", 0, 0, 90]))
    assert look_twice(LagTracker(observer, [member("g", assigned(90)), member("k", assigned(80))]), monkeypatch) == 10


def test_an_engine_that_is_behind_is_part_of_the_lag_that_is_shown(monkeypatch: Any) -> None:
    reader: Any = SimpleNamespace(reading=lambda: {"job.q": {T0: 200}}, settled=lambda: True, committing_groups=list)
    observer: Any = FakeObserver(offsets(3, ["t", 0, 0, 1200]), offsets(4, ["t", 0, 0, 1200]))
    lag_tracker = LagTracker(observer, [], [reader])
    assert lag_tracker.total_lag is None
    assert look_twice(lag_tracker, monkeypatch) == 1000
    monkeypatch.setattr(time, "monotonic_ns", lambda: lag_tracker.lag_ns + 1)
    assert lag_tracker.total_lag == 1000
    assert lag_tracker.lag == {}


def test_an_engine_at_a_topic_that_kafka_does_not_know_is_never_taken_for_one_that_has_read_all(
    monkeypatch: Any,
) -> None:
    reader: Any = SimpleNamespace(
        reading=lambda: {"job.q": {("unheard", 0): 200}}, settled=lambda: True, committing_groups=list
    )
    observer: Any = FakeObserver(offsets(3), offsets(4))
    lag_tracker = LagTracker(observer, [], [reader])
    assert look_twice(lag_tracker, monkeypatch) is None
    monkeypatch.setattr(time, "monotonic_ns", lambda: lag_tracker.lag_ns + 1)
    assert lag_tracker.total_lag is None
    observer = FakeObserver(offsets(3), offsets(4))
    assert look_twice(LagTracker(observer, [], [reader], made_topics=["unheard"]), monkeypatch) == 0, "it was deleted"


def test_an_engine_that_begins_to_read_another_topic_is_behind_until_its_end_is_told(monkeypatch: Any) -> None:
    read = {T0: 5}
    reader: Any = SimpleNamespace(reading=lambda: {"job.q": read}, settled=lambda: True, committing_groups=list)
    rows = [["t", 0, 0, 5], ["u", 0, 0, 9]]
    observer: Any = FakeObserver(offsets(3, rows[0]), offsets(4, *rows), offsets(5, *rows))
    lag_tracker = LagTracker(observer, [], [reader], made_topics=["t", "u"])
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    lag_tracker.poll()
    read["u", 0] = 0
    assert lag_tracker.poll() is None
    assert lag_tracker.poll() == 9


class FakeProgram:
    """A program that reads in the groups that it is told."""

    def __init__(self, **groups: GroupReading) -> None:
        self._groups = groups

    def groups(self) -> dict[str, GroupReading]:
        return self._groups


class KnowingObserver:
    """Answers every question for offsets alike, and tells which places have no message up to the end."""

    def __init__(self, *rows: list[Any], ends: list[list[Any]] | None = None) -> None:
        self.rows = list(rows)
        self.ends = ends or []
        self.unread: list[list[Any]] = []
        self.asked: list[Any] = []

    def ask(self, operation: str, **request: Any) -> Any:
        if operation == "offsets_now":
            answer = offsets(time.monotonic_ns(), *self.rows)
        else:
            self.asked.append(request["places"])
            answer = {"ends": self.ends, "unread": self.unread}
        return SimpleNamespace(done=True, result=lambda: answer)


SECONDS = count()


def look_often(lag_tracker: LagTracker, monkeypatch: Any, times: int = 8) -> int | None:
    monkeypatch.setattr(time, "monotonic", lambda: float(next(SECONDS)))
    for _ in range(times - 1):
        lag_tracker.poll()
    return lag_tracker.poll()


AT_10 = GroupReading({"t"}, {T0: (5, 10)}, "read_committed")


def test_a_group_that_a_program_and_a_consumer_share_has_one_lag(monkeypatch: Any) -> None:
    t1 = ("t", 1)
    both = {"event": "assigned", "at_ns": 1, "partitions": [["t", 0, 3], ["t", 1, 30]]}
    left = {"event": "revoked", "at_ns": 2, "partitions": [["t", 0]]}
    late = {"event": "progress", "at_ns": 9, "positions": [["t", 0, 3]]}
    ours = member("g", both, left, late)
    mate: Any = FakeProgram(g=GroupReading({"t"}, {T0: (5, 40), t1: (2, 7)}))
    observer: Any = KnowingObserver(["t", 0, 0, 50], ["t", 1, 0, 30])
    lag_tracker = LagTracker(observer, [ours], [], [mate])
    assert look_often(lag_tracker, monkeypatch) == 10
    assert lag_tracker.lag == {"g": 10}
    assert lag_tracker.total_lag == 10


def test_the_last_of_several_members_of_a_group_tells_its_position(monkeypatch: Any) -> None:
    before: Any = FakeProgram(g=GroupReading({"t"}, {T0: (5, 40)}))
    now: Any = FakeProgram(g=GroupReading({"t"}, {T0: (9, 25)}))
    for programs in ([before, now], [now, before]):
        observer: Any = KnowingObserver(["t", 0, 0, 40])
        assert look_often(LagTracker(observer, [], [], programs), monkeypatch) == 15


def test_a_program_that_has_read_nothing_of_what_it_wants_is_behind(monkeypatch: Any) -> None:
    program: Any = FakeProgram(g=GroupReading({"t"}))
    observer: Any = KnowingObserver(["t", 0, 0, 40])
    assert look_often(LagTracker(observer, [], [], [program]), monkeypatch) == 40


def test_a_program_is_not_behind_where_nothing_but_markers_is_left(monkeypatch: Any) -> None:
    program: Any = FakeProgram(g=AT_10)
    observer: Any = KnowingObserver(["t", 0, 0, 12], ends=[["t", 0, 10, "read_committed", 12]])
    lag_tracker = LagTracker(observer, [], [], [program], looks_behind=True)
    assert look_often(lag_tracker, monkeypatch) == 0
    assert observer.asked[0] == [["t", 0, 10, "read_committed"]]
    assert lag_tracker.read_to_end() == {"g": [("t", 0, 12)]}
    # What is written afterwards counts again, and nobody says that there is nothing to read.
    observer.rows, observer.ends = [["t", 0, 0, 15]], []
    assert look_often(lag_tracker, monkeypatch) == 5
    assert lag_tracker.read_to_end() == {}


def test_an_open_transaction_before_the_end_keeps_a_program_behind(monkeypatch: Any) -> None:
    program: Any = FakeProgram(g=AT_10)
    observer: Any = KnowingObserver(["t", 0, 0, 14], ends=[["t", 0, 10, "read_committed", 12]])
    assert look_often(LagTracker(observer, [], [], [program], looks_behind=True), monkeypatch) == 4


def test_two_groups_at_one_place_are_asked_about_as_each_of_them_reads(monkeypatch: Any) -> None:
    other = GroupReading({"t"}, {T0: (5, 10)}, "read_uncommitted")
    program: Any = FakeProgram(g=AT_10, k=other)
    observer: Any = KnowingObserver(["t", 0, 0, 12], ends=[["t", 0, 10, "read_committed", 12]])
    lag_tracker = LagTracker(observer, [], [], [program], looks_behind=True)
    assert look_often(lag_tracker, monkeypatch) == 2
    assert lag_tracker.lag == {"g": 0, "k": 2}


def test_kafka_is_asked_once_where_a_program_has_a_message_to_read(monkeypatch: Any) -> None:
    observer: Any = KnowingObserver(["t", 0, 0, 12])
    observer.unread = [["t", 0, 10, "read_committed"]]
    program: Any = FakeProgram(g=AT_10)
    assert look_often(LagTracker(observer, [], [], [program], looks_behind=True), monkeypatch, 20) == 2
    assert len(observer.asked) == 1


def test_kafka_is_asked_for_next_messages_in_the_drain_only(monkeypatch: Any) -> None:
    observer: Any = KnowingObserver(["t", 0, 0, 12])
    program: Any = FakeProgram(g=AT_10)
    assert look_often(LagTracker(observer, [], [], [program]), monkeypatch) == 2
    assert observer.asked == []


def test_a_kafka_that_tells_nothing_any_more_leaves_a_gap_that_is_known(monkeypatch: Any) -> None:
    clock = iter(range(0, 100, 1))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    now_ns = [1_000_000_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ns[0])
    lag_tracker, status = lag_tracker_of(offsets(1_100_000_000, ["t", 0, 0, 50]))
    status.update({"event": "progress", "at_ns": 1_100_000_000, "positions": [["t", 0, 20]]})
    monitor = LagMonitor(lambda: lag_tracker, lambda *_sample, at_ns: None)
    monitor.look()
    monitor.look()
    now_ns[0] = 3_200_000_000
    with pytest.raises(StartFailed, match=r"the brokers told no lag for 2\.1 s"):
        monitor.look()


def test_readers_stand_still_only_after_some_time_without_work() -> None:
    now = [0.0]
    reader: Any = SimpleNamespace(settled=lambda: now[0] not in (1.0, 5.0))
    still = Stillness([reader], 3.0, lambda: now[0])
    seen = []
    for second in range(10):
        now[0] = float(second)
        seen.append(still.holds())
    assert seen == [False, False, False, False, False, False, False, False, False, True]


def test_nobody_waits_for_a_consumer_that_was_stopped_by_hand() -> None:
    def consumer(name: str, is_retired: bool) -> Any:
        return SimpleNamespace(groups=[name], topics=["t"], statuses=[ClientStatus()], is_retired=is_retired)

    components: Any = SimpleNamespace(
        consumers=[consumer("gone", True), consumer("here", False)],
        observer=SimpleNamespace(),
        topic_readers=list,
        observed_programs=list,
        context=SimpleNamespace(experiment=SimpleNamespace(topics=[])),
    )
    tracker = LagTracker.of(components)
    assert tracker is not None
    assert tracker._groups({}) == {"here": {"t"}}
    components.consumers = components.consumers[:1]
    assert LagTracker.of(components) is None


def test_a_question_that_is_never_answered_is_asked_again(monkeypatch: Any) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    asked: list[str] = []

    class Deaf:
        def ask(self, operation: str, **_request: Any) -> Any:
            asked.append(operation)
            return SimpleNamespace(done=False)

    observer: Any = Deaf()
    consumer: Any = SimpleNamespace(groups=["g"], statuses=[ClientStatus()], topics=["t"], is_retired=False)
    tracker = LagTracker(observer, [consumer])
    for at in (0.0, 1.0, 20.0, 29.0):
        now[0] = at
        assert tracker.poll() is None
    assert asked == ["offsets_now"]
    now[0] = 31.0
    tracker.poll()
    assert asked == ["offsets_now"] * 2
