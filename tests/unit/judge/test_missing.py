"""Latencies over messages that never arrived: bounds, not survivors."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import (
    Analysis,
    ClientRow,
    Fidelity,
    LatencyRow,
    MissingRow,
    PhaseRow,
    SuspectSpan,
)
from stream2gym.judge.judge import judge_one
from stream2gym.judge.verdict import Judgement
from stream2gym.kinds.expectation_grammar import parse_expectation

S = 1_000_000_000


def spread(seconds: float, count: int) -> Histogram:
    value = round(seconds * S)
    return Histogram(((value, count),), float(value * count), value, value)


def run(arrived: int = 166, gone: int = 634, **missing: Any) -> Analysis:
    where: dict[str, Any] = {"topic": "in", "partition": 0, "producer": "gen", "group": "g"}
    received = LatencyRow("latency", **where, consumer="see", histogram=spread(0.1, arrived))
    lost = MissingRow("latency", **where | missing, histogram=spread(5.0, gone) if gone else Histogram())
    return Analysis(
        "r", 10.0, 1.0,
        clients=(ClientRow("consumer", "see", "in", "g"),),
        latency=(received,) if arrived else (),
        missing=(lost,),
        phases=(PhaseRow("load", 0.0, 8.0), PhaseRow("drain", 8.0, 10.0), PhaseRow("stop", 10.0, 11.0)),
        fidelity=Fidelity(True, "in time", suspect=()),
    )  # fmt: skip


def judged(text: str, analysis: Analysis) -> Judgement:
    return judge_one(parse_expectation(text), analysis, [])


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("latency.p99 < 2 s", "fail"), ("latency.p99 < 5 s", "fail"), ("latency.p99 < 60 s", "unknown"),
        ("latency.p99 > 4 s", "pass"), ("latency.p50 < 2 s", "fail"), ("latency.min < 2 s", "pass"),
        ("latency.mean < 2 s", "fail"), ("latency.max < 60 s", "unknown"), ("latency.p99(of=received) < 2 s", "pass"),
        ("latency.max(of=received) < 2 s", "pass"),
    ],
)  # fmt: skip
def test_the_survivors_of_a_killed_job_do_not_speak_for_all(text: str, outcome: str) -> None:
    assert judged(text, run()).outcome == outcome


def test_a_few_missing_messages_leave_the_percentiles_below_them_alone() -> None:
    some = run(arrived=995, gone=5)

    assert judged("latency.p99 < 2 s", some).outcome == "pass"
    assert judged("latency.p99.9 < 2 s", some).outcome == "fail"
    assert judged("latency.p99.9 < 60 s", some).outcome == "unknown"


def test_the_reason_counts_what_is_missing_and_names_the_question_about_the_others() -> None:
    found = judged("latency.p99 < 60 s", run())

    assert (found.low, found.high) == (5.0, inf)
    assert found.reason == (
        "634 of 800 messages had not arrived when the drain ended; (of=received) asks about the others alone"
    )


def test_nothing_arrived_at_all_is_a_latency_of_at_least_the_time_waited() -> None:
    none = run(arrived=0, gone=1000)

    assert judged("latency.p99 < 2 s", none).outcome == "fail"
    assert judged("latency.p99 < 60 s", none).outcome == "unknown"
    assert judged("latency.p99(of=received) < 2 s", none).outcome == "unknown"


def test_a_consumer_answers_for_what_its_whole_group_lacks_only_when_it_is_the_whole_group() -> None:
    alone = run()
    assert judged("latency.p99(consumer=see) < 2 s", alone).outcome == "fail"
    two = Analysis(
        "r", 10.0, 1.0,
        clients=(*alone.clients, ClientRow("consumer", "other", "in", "g")),
        latency=alone.latency, missing=alone.missing, fidelity=alone.fidelity,
    )  # fmt: skip
    assert judged("latency.p99(consumer=see) < 2 s", two).outcome == "unknown"
    assert judged("latency.min(consumer=see) < 2 s", two).outcome == "pass"


def test_a_message_whose_partition_nobody_knows_may_have_been_meant_for_any() -> None:
    nowhere = run(partition=-1)

    assert judged("latency.p99(partition=0) < 2 s", nowhere).outcome == "unknown"
    assert judged("latency.p99 < 2 s", nowhere).outcome == "fail"


def test_messages_that_were_perhaps_not_meant_for_the_group_only_raise_the_upper_bound() -> None:
    maybe = run(gone=0, doubtful=10)

    assert judged("latency.p99 < 2 s", maybe).outcome == "unknown"
    assert judged("latency.p50 < 2 s", maybe).outcome == "pass"
    assert judged("latency.p99 < 50 ms", maybe).outcome == "fail"


def test_suspect_time_in_which_a_message_did_not_arrive_does_not_count_against_it() -> None:
    def suspect(from_s: float, to_s: float) -> Analysis:
        return replace(run(), fidelity=Fidelity(True, "late", suspect=(SuspectSpan(from_s, to_s, ("late",)),)))

    # The messages had waited since 5 s when the consumers were stopped at 10 s.
    assert judged("latency.p99 < 4 s", suspect(1.0, 3.0)).outcome == "fail"
    # A starved client gave up what it would have delivered: not even the clear time before that counts.
    assert judged("latency.p99 < 4 s", suspect(7.0, 7.5)).outcome == "unknown"
    assert judged("latency.p99 < 4 s", suspect(7.0, 9.0)).outcome == "unknown"
    assert judged("latency.p99 < 4 s", replace(run(), fidelity=Fidelity(None, "old"))).outcome == "unknown"


def test_only_what_arrived_can_be_asked_for_alone() -> None:
    with pytest.raises(ValueError, match="latency can be asked of=received, not of=lost"):
        parse_expectation("latency.p99(of=lost) < 1 s")
    with pytest.raises(ValueError, match="of=acknowledged"):
        parse_expectation("ack_latency.p99(of=received) < 1 s")
    assert parse_expectation("ack_latency.p99(of=acknowledged) < 1 s").filters == {"of": "acknowledged"}
    with pytest.raises(ValueError, match="unknown filter"):
        parse_expectation("send_delay.p99(of=received) < 1 s")


@pytest.mark.parametrize("stat", ["min", "mean", "p50", "p99", "p99.99", "max"])
@pytest.mark.parametrize("beyond", [0, 1, 5, 100])
def test_infinite_values_count_like_very_large_ones(stat: str, beyond: int) -> None:
    far = 10**15 * S
    plain = Histogram(((S, 60), (2 * S, 40)), 140.0 * S, S, 2 * S)
    more = Histogram((*plain.buckets, (far, beyond)), plain.total_ns + far * beyond, S, far) if beyond else plain
    expected = more.value(stat)
    assert expected is not None
    assert plain.value(stat, beyond) == (inf if expected > 1e9 else expected)
