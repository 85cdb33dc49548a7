"""Runs side by side."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    Fidelity,
    FlowPoint,
    LatencyRow,
    SentRow,
    SuspectSpan,
)
from stream2gym.cli.main import main
from stream2gym.judge import compare as comparing
from stream2gym.judge import meters
from stream2gym.judge.compare import Comparison, compare, compute_change, parse_metric
from stream2gym.judge.estimate import Estimate
from stream2gym.judge.measurement import Events, Measurement
from stream2gym.kinds.expectation_grammar import Expectation
from stream2gym.kinds.metrics import BUILT_IN

GOOD = Fidelity(True, "in time", suspect=())


def analysis(acknowledged: int = 1000, lost: int = 0, latency_ms: int = 10, fidelity: Fidelity = GOOD) -> Analysis:
    value = latency_ms * 1_000_000
    return Analysis(
        "r", 10.0, 1.0,
        sent=(SentRow("in", 0, "gen", 1000, acknowledged),),
        audit=(AuditRow("in", 0, "gen", "g", acknowledged, acknowledged - lost, lost),),
        latency=(LatencyRow("latency", "in", histogram=Histogram(((value, 10),), value * 10.0, value, value)),),
        fidelity=fidelity,
    )  # fmt: skip


def compared(*others: Analysis, tolerance: float | None = 0.1) -> Comparison:
    runs: list[tuple[str, Analysis, Events]] = [
        ("first", analysis(), []),
        *((f"run{n}", other, []) for n, other in enumerate(others)),
    ]
    return compare(runs, tolerance=tolerance)


def worse(found: Comparison) -> set[str]:
    return {row.text for row in found.rows if row.outcome == "fail"}


def test_the_same_run_is_no_regression() -> None:
    assert compared(analysis()).outcome == "pass"


def test_more_latency_and_less_throughput_than_tolerated_are_regressions() -> None:
    assert worse(compared(analysis(latency_ms=12))) == {"latency.p50", "latency.p99", "latency.p99.9"}
    assert worse(compared(analysis(acknowledged=800))) == {"acknowledged", "throughput"}
    assert compared(analysis(latency_ms=11, acknowledged=950)).outcome == "pass"


def test_getting_better_is_no_regression() -> None:
    assert compared(analysis(latency_ms=1)).outcome == "pass"


def test_a_first_loss_is_a_regression_whatever_the_tolerance() -> None:
    assert "lost" in worse(compared(analysis(lost=1), tolerance=0.5))


def test_without_tolerance_nothing_is_judged() -> None:
    assert compared(analysis(lost=5, latency_ms=100), tolerance=None).outcome == "pass"


def test_a_slow_run_whose_emulation_failed_is_unknown() -> None:
    found = compared(analysis(latency_ms=100, fidelity=Fidelity(False, "late")))

    assert (found.outcome, found.untrusted) == ("unknown", ("run0",))


def test_the_change_is_relative_to_the_first_run() -> None:
    row = next(row for row in compared(analysis(latency_ms=15)).rows if row.text == "latency.p99")

    assert row.change == (pytest.approx(0.5),)
    assert row.shown == ("10 ms", "15 ms")


def _kept(path: Path, found: Analysis) -> str:
    FakeRun().write(path)
    (path / "analysis.json").write_text(json.dumps(found.to_json()))
    return str(path)


def test_the_command_prints_a_table_and_fails_on_a_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = _kept(tmp_path / "a", analysis()), _kept(tmp_path / "b", analysis(latency_ms=20))

    assert main(["compare", first, second]) == 0
    assert main(["compare", first, second, "--tolerance", "10%"]) == 1

    out = capsys.readouterr().out
    assert "20 ms (+100.0%)  worse" in out
    assert "a run is worse than the first (tolerance 10 %)" in out


def test_the_command_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = _kept(tmp_path / "a", analysis()), _kept(tmp_path / "b", analysis())

    assert main(["compare", first, second, "--json", "--metric", "latency.p95(topic=in)"]) == 0

    said = json.loads(capsys.readouterr().out)
    assert said["runs"] == ["a", "b"]
    assert said["rows"][-1]["text"] == "latency.p95(topic=in)"


def test_every_mistake_of_the_command_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = FakeRun().write(tmp_path / "bare")

    assert main(["compare", str(bare), "--tolerance", "ten", "--metric", "latncy", "--in", str(tmp_path)]) == 2

    err = capsys.readouterr().err
    assert "one run cannot be compared" in err
    assert "not a share" in err
    assert "did you mean 'latency'" in err
    assert "has not been analysed" in err


def test_a_worse_run_among_many_is_found() -> None:
    found = compared(analysis(), replace(analysis(), sent=(SentRow("in", 0, "gen", 1000, 100),)))

    assert "throughput" in worse(found)


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [(1.0, math.inf, "fail"), (math.inf, 1.0, "pass"), (math.inf, math.inf, "pass")],
)
def test_a_recovery_that_never_came_can_be_compared(
    before: float, after: float, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter((before, after))
    recovery = meters.measure

    def measure(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
        wanted = expectation.metric == "recovery"
        return Measurement({"cut": next(values)}) if wanted else recovery(expectation, analysis, events)

    monkeypatch.setattr(comparing, "measure", measure)
    runs: list[tuple[str, Analysis, Events]] = [("first", analysis(), []), ("second", analysis(), [])]
    found = compare(runs, ["recovery(fault=cut)"], tolerance=0.1)
    assert found.outcome == outcome
    assert "inf s" in found.rows[-1].shown
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert Comparison.from_json(found.to_json()) == found


@pytest.mark.parametrize("metric", [metric.name for metric in BUILT_IN])
def test_every_metric_can_be_named_without_a_comparison(metric: str) -> None:
    assert parse_metric(metric).metric == metric


def starved() -> Analysis:
    """A run of which the machine may have shaped eight seconds."""
    suspect = Fidelity(False, "suspect", suspect=(SuspectSpan(1.0, 9.0, ("threads of a waited",)),), lacks="")
    flow = tuple(FlowPoint("acknowledged", "in", "gen", "", float(s), 100, 1000) for s in range(10))
    return replace(analysis(fidelity=suspect), flow=flow)


@pytest.mark.parametrize("later", [starved(), replace(starved(), latency=analysis(latency_ms=1).latency)])
def test_a_run_that_may_be_worse_than_the_first_in_suspect_time_is_unknown(later: Analysis) -> None:
    found = compare([("a", starved(), []), ("b", later, [])], ["throughput.max"], tolerance=0.1)
    outcomes = {row.text: row.outcome for row in found.rows}
    assert found.outcome == "unknown"
    assert outcomes["throughput.max"] == "unknown"
    # What the machine cannot shape is decided.
    assert (outcomes["acknowledged"], outcomes["lost"]) == ("pass", "pass")


def test_bounds_that_stay_within_the_tolerance_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = iter([Estimate(1.0, 0.98, 1.0), Estimate(1.05, 1.0, 1.05)])
    monkeypatch.setattr(
        comparing, "_measure_all", lambda wanted, *_: [next(bounds)] if wanted.metric == "lag" else []
    )
    runs: list[tuple[str, Analysis, Events]] = [("a", analysis(), []), ("b", analysis(), [])]
    assert compare(runs, ["lag.max"], tolerance=0.1).outcome == "pass"


def test_of_several_values_any_may_be_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([[Estimate(10, 10, 10), Estimate(5, 5, 5)], [Estimate(10, 10, 10), Estimate(5, 5, 100)]])
    monkeypatch.setattr(comparing, "_measure_all", lambda wanted, *_: next(values) if wanted.metric == "lag" else [])
    runs: list[tuple[str, Analysis, Events]] = [("a", analysis(), []), ("b", analysis(), [])]
    [row] = compare(runs, ["lag.max"], tolerance=0.1).rows
    assert (row.values, row.high, row.outcome) == ((10, 10), (10, 100), "unknown")


def test_a_metric_that_fails_leaves_the_comparison_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object) -> None:
        raise SystemExit(0)

    monkeypatch.setitem(meters.METERS, "lag", leave)
    found = compare([("a", analysis(), []), ("b", analysis(), [])], ["lag.max"], tolerance=0.1)
    assert (found.rows[-1].text, found.rows[-1].outcome, found.outcome) == ("lag.max", "unknown", "unknown")


@pytest.mark.parametrize(
    ("first", "value", "change"),
    [(-math.inf, math.inf, None), (0.0, -5.0, -math.inf), (-2.0, -3.0, -0.5), (math.inf, 4.0, -1.0)],
)
def test_changes_of_odd_figures(first: float, value: float, change: float | None) -> None:
    assert compute_change(first, value) == change
