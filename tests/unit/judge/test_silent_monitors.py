"""What a monitor did not see leaves a claim open; what it saw stays proven."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.analysis.result_tables import Analysis, FaultRow, Fidelity, LeaderSpan, SeriesPoint
from stream2gym.judge.judge import judge

FAILED: dict[str, Any] = {"event": "monitor-failed", "monitor": "disk", "reason": "OSError: gone"}
ENGINE_FAILED = FAILED | {"monitor": "engine job"}


def back(monitor: str, silent_s: float) -> dict[str, Any]:
    return {"event": "monitor-works-again", "monitor": monitor, "silent_s": silent_s}


def outcome(expectation: str, *events: dict[str, Any]) -> tuple[str, str]:
    gauges = (
        SeriesPoint("disk root", "used", 1.0, 3.0),
        SeriesPoint("disk root", "used", 2.0, 7.0),
        SeriesPoint("client g", "lag", 1.0, 5.0),
        SeriesPoint("spark job.query-1", "batch_ms", 1.0, 5.0),
        SeriesPoint("flink job", "checkpoints_failed", 1.0, 0.0),
    )
    analysis = Analysis(
        run="r", load_s=10.0, step_s=1.0, gauges=gauges, fidelity=Fidelity(True, "in time", suspect=())
    )
    [judgement] = judge([expectation], analysis, events).judgements
    return judgement.outcome, judgement.reason


@pytest.mark.parametrize("stat", ["max", "mean", "last", "p99"])
def test_nothing_passes_on_the_samples_of_a_monitor_that_failed(stat: str) -> None:
    expectation = f"sample.{stat}(source=disk, metric=used) < 10"
    assert outcome(expectation)[0] == "pass"
    found, reason = outcome(expectation, FAILED)
    assert found == "unknown"
    assert "the monitor disk saw nothing for a while: OSError: gone" in reason


def test_what_was_seen_is_enough_to_fail() -> None:
    assert outcome("sample.max(source=disk) < 5", FAILED)[0] == "fail"
    assert outcome("sample.min(source=disk) > 5", FAILED)[0] == "fail"
    assert outcome("sample.max(source=disk) > 5", FAILED)[0] == "pass"


def test_a_short_gap_and_the_gap_of_another_monitor_leave_no_doubt() -> None:
    expectation = "sample.max(source=disk) < 10"
    assert outcome(expectation, FAILED, back("disk", 0.9))[0] == "pass"
    assert outcome(expectation, FAILED, back("disk", 4.0))[0] == "unknown"
    assert outcome(expectation, FAILED | {"monitor": "other"})[0] == "pass"


def test_the_lag_is_open_where_nobody_sampled_it() -> None:
    assert outcome("lag.max < 10", FAILED | {"monitor": "lag"})[0] == "unknown"


def test_an_engine_that_nobody_watched_to_the_end_is_a_doubt() -> None:
    analysis = Analysis(run="r", load_s=10.0, step_s=1.0, fidelity=Fidelity(True, "in time", suspect=()))
    assert judge([], analysis, [ENGINE_FAILED]).outcome == "unknown"
    assert judge([], analysis, [ENGINE_FAILED, back("engine job", 9.0)]).outcome == "pass"
    assert judge([], analysis, [FAILED]).outcome == "pass"


@pytest.mark.parametrize("what", ["source=flink, metric=checkpoints_failed", "metric=checkpoints_failed"])
def test_what_an_engine_counts_is_open_where_nobody_watched_it(what: str) -> None:
    expectation = f"sample.max({what}) == 0"
    assert outcome(expectation)[0] == "pass"
    assert outcome(expectation, ENGINE_FAILED, back("engine job", 9.0))[0] == "unknown"
    assert outcome("sample.max(source=flink) == 0", ENGINE_FAILED | {"monitor": "engine other"})[0] == "pass"


def changes_of_leaders(expectation: str, *events: dict[str, Any]) -> str:
    leaders = (LeaderSpan("in", 0, 1, -1.0, 10.0),)
    fidelity = Fidelity(True, "in time", suspect=())
    faults = (FaultRow("cut", 1, "down", ("h1 -- s1",), 2.0, 4.0, 10.0),)
    analysis = Analysis(run="r", load_s=10.0, step_s=1.0, leaders=leaders, faults=faults, fidelity=fidelity)
    return judge([expectation], analysis, events).judgements[0].outcome


@pytest.mark.parametrize(
    "metric", ["leader_changes", "isr_shrinks", "controller_changes", "leader_changes(fault=cut)"]
)
def test_a_cluster_that_nobody_watched_any_more_may_have_changed(metric: str) -> None:
    ended = FAILED | {"monitor": "leadership"}
    assert changes_of_leaders(f"{metric} == 0") == "pass"
    assert changes_of_leaders(f"{metric} == 0", ended) == "unknown"
    assert changes_of_leaders(f"{metric} < 0", ended) == "fail"
