"""What was said wrongly about messages behind engines, each as a small case with a known answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import analyse
from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.result_tables import Analysis, Fidelity
from stream2gym.judge.judge import judge

Analyse = Callable[[FakeRun], Analysis]


@pytest.fixture
def look(session: Any, tmp_path: Path) -> Analyse:
    return lambda run: analyse(run.write(tmp_path / "run"), session=session)


def pipeline(by: str = "value", **more: Any) -> FakeRun:
    """A producer of ``in``, an engine that nobody observes, and a group behind it that reads ``out``."""
    return FakeRun(
        topics=[{"name": "in"}, {"name": "out"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}, *more.get("producers", ())],
        consumers=[{"name": "end", "on": "h2", "topics": ["out"], "group": "e"}, *more.get("consumers", ())],
        trace=[{"from": "in", "to": "out", "by": by}],
    )


class Results:
    """Writes the results of an engine, one after the other."""

    def __init__(self, run: FakeRun) -> None:
        self.run, self.number = run, 0

    def add(self, value: int, at_s: float, seq: int | None = None) -> None:
        self.run.receive(seq, topic="out", group="e", consumer="end", offset=self.number, value=value, at_s=at_s)
        self.number += 1

    def end(self, written: int) -> FakeRun:
        self.run.offsets("in", 0, 0, written)
        self.run.offsets("out", 0, 0, self.number)
        return self.run


def outcomes(found: Analysis, *expected: str) -> list[str]:
    kept_up = replace(found, fidelity=Fidelity(True, "in time", suspect=()))
    return [one.outcome for one in judge(list(expected), kept_up, []).judgements]


def test_unanswered_messages_of_a_repeated_value_may_have_results_of_their_own(look: Analyse) -> None:
    run = pipeline()
    results = Results(run)
    for seq in range(103):
        value = seq % 5 if seq < 100 else 0
        run.send(seq, value=value, status="acked" if seq < 100 else "queued", partition=0 if seq < 100 else None)
        results.add(value, seq / 1000 + 0.1)

    found = look(results.end(103))

    (trace,) = found.traces
    assert (trace.missing, trace.missing_more, trace.doubled, trace.doubled_more) == (0, 0, 0, 3)
    assert outcomes(found, "results_doubled == 0", "duplicated <= 3", "results_doubled > 3") == [
        "unknown", "pass", "fail",
    ]  # fmt: skip
    (judgement,) = judge(["results_doubled == 0"], found, []).judgements
    assert judgement.reason == (
        "3 messages of in failed or were unanswered, and results may be theirs or those of other messages with the "
        "same value"
    )


def test_results_of_failed_messages_do_not_hide_those_that_are_missing(look: Analyse) -> None:
    run = pipeline()
    results = Results(run)
    for seq in range(100):
        run.send(seq, value=seq % 5)
        if seq not in (0, 5, 10):
            results.add(seq % 5, seq / 1000 + 0.1)
    for seq in range(100, 103):
        run.send(seq, value=0, status="failed", partition=None, ack_s=1.0)
        results.add(0, seq / 1000 + 0.1)

    found = look(results.end(103))

    assert (found.traces[0].missing, found.traces[0].missing_more) == (0, 3)
    assert outcomes(found, "results_missing == 0", "lost == 0", "delivered == 100 %", "results_missing <= 3") == [
        "unknown", "unknown", "unknown", "pass",
    ]  # fmt: skip


def test_a_message_that_failed_and_has_two_results_was_duplicated(look: Analyse) -> None:
    run = pipeline("header")
    results = Results(run)
    for seq in range(10):
        run.send(seq, status="failed" if seq == 5 else "acked", partition=None if seq == 5 else 0)
        results.add(seq, seq / 1000 + 0.1, seq)
    results.add(5, 0.2, 5)

    found = look(results.end(10))

    assert (found.traces[0].doubled, found.traces[0].doubled_more) == (1, 0)


def test_the_result_of_an_earlier_unanswered_message_is_not_that_of_a_later_one(look: Analyse) -> None:
    run = pipeline()
    results = Results(run)
    run.send(0, value=7, status="queued", partition=None, due_s=1.0)
    results.add(7, 1.1)
    run.send(1, value=7, due_s=5.0)
    results.add(7, 5.1)

    found = look(results.end(2))

    (row,) = (row for row in found.latency if row.kind == "trace_latency")
    assert row.histogram.value("min") == pytest.approx(0.1)
    assert row.least.min_ns >= 0
    assert outcomes(found, "trace_latency.max < 50 ms", "trace_latency.max < 200 ms") == ["fail", "pass"]
    assert outcomes(found, "trace_latency.p50 < 50 ms", "trace_latency.min > 0 s") == ["unknown", "pass"]


def test_a_further_result_is_not_that_of_a_message_that_was_sent_after_it(look: Analyse) -> None:
    run = pipeline()
    results = Results(run)
    run.send(0, value=7, due_s=1.0)
    results.add(7, 1.1)
    results.add(7, 1.2)
    run.send(1, value=7, due_s=5.0)
    results.add(7, 8.1)

    found = look(results.end(2))

    assert found.traces[0].doubled == 1
    assert outcomes(found, "trace_latency.min > 0 s", "trace_latency.max > 3 s") == ["pass", "pass"]


def test_failed_and_unanswered_messages_count_in_latencies_behind_an_engine(look: Analyse) -> None:
    run = pipeline()
    results = Results(run)
    for seq in range(100):
        if seq < 50:
            run.send(seq)
            results.add(seq, seq / 1000 + 0.1)
        else:
            run.send(seq, status="queued" if seq % 2 else "failed", partition=None)

    found = look(results.end(50))

    assert outcomes(found, "trace_latency.p99 < 1 s", "trace_latency.p99(of=received) < 1 s") == ["fail", "pass"]
    assert outcomes(found, "results_missing == 0", "results_doubled == 0") == ["pass", "pass"]
    assert [row.histogram.count for row in found.missing if row.kind == "trace_latency"] == [50]


def test_a_consumer_beside_the_engine_does_not_hide_what_the_engine_left_out(look: Analyse) -> None:
    run = pipeline(consumers=[{"name": "see", "on": "h2", "topics": ["in"], "group": "g"}])
    results = Results(run)
    for seq in range(100):
        run.send(seq)
        run.receive(seq)
        if seq < 40:
            results.add(seq, seq / 1000 + 0.1)

    found = look(results.end(100))

    expected = ("lost == 0", "delivered == 100 %", "lost(topic=out) == 0", "lost(topic=in) == 0", "duplicated == 0")
    assert outcomes(found, *expected) == ["fail", "fail", "fail", "pass", "pass"]


def test_an_engine_that_wrote_nothing_did_not_prove_that_it_writes_nothing_twice(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)

    found = look(Results(run).end(100))

    assert outcomes(found, "results_doubled == 0", "duplicated == 0", "lost == 0") == ["unknown", "unknown", "fail"]


@pytest.mark.parametrize("by", ["value", "header"])
def test_messages_that_nobody_recorded_may_have_the_results_of_others(look: Analyse, by: str) -> None:
    own = {"name": "own", "on": "h1", "type": "CUSTOM", "app": "x.py", "topic": "in"}
    run = pipeline(by, producers=[own])
    results = Results(run)
    for seq in range(20):
        run.send(seq, value=seq % 5)
        results.add(seq % 5, seq / 1000 + 0.1, seq if by == "header" else None)

    found = look(results.end(40))

    expected = "pass" if by == "header" else "unknown"
    assert outcomes(found, "results_missing == 0", "results_doubled == 0") == [expected, "pass"]
