"""Verdicts from tables: pass, fail, unknown, and why."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import pytest

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    Change,
    ClientRow,
    Evidence,
    Fidelity,
    FlowPoint,
    LatencyRow,
    LeaderSpan,
    LinkRow,
    PhaseRow,
    PositionRow,
    ReceivedRow,
    ResourceRow,
    SampledRow,
    SentRow,
    SeriesPoint,
    SuspectSpan,
)
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.analysis.suspect import GAP, NO_LOOK, NOT_SAMPLED
from stream2gym.judge.judge import judge, judge_one
from stream2gym.judge.meters import METERS
from stream2gym.judge.verdict import Verdict
from stream2gym.kinds.expectation_grammar import parse_expectation
from stream2gym.kinds.metrics import BUILT_IN

MS = 1_000_000


def analysis(**changes: Any) -> Analysis:
    whole = Analysis(
        run="r",
        load_s=10.0,
        step_s=1.0,
        sent=(SentRow("in", 0, "gen", 1000, 990, 0, 10, 0, 100_000, 99_000),),
        began_s=-4.0,
        received=(
            ReceivedRow("in", 0, "g", "see", 992, 99_200, 0, first_s=0.5),
            ReceivedRow("out", 0, "h", "results", 0, 0, 0, first_s=1.5),
        ),
        audit=(AuditRow("in", 0, "gen", "g", 990, 987, lost=3, copies=992, redelivered=5),),
        positions=(PositionRow("in", 0, "g", 0, 990, 0, 990, 992, 987, gaps=3),),
        evidence=(Evidence("lost", "in", 0, "gen", "g", "not received by g", 17, 20),),
        latency=(
            LatencyRow("latency", "in", 0, "gen", "g", "see", histogram=_histogram(10, 980)),
            LatencyRow("ack_latency", "in", 0, "gen", histogram=_histogram(5, 990)),
        ),
        flow=tuple(FlowPoint("acknowledged", "in", "gen", "", float(s), 99, 9900) for s in range(10)),
        links=(
            LinkRow("h1 -- s1", "forward", "h1", 1, "s1", 2, 100, 1, 8e6, 9e6, 10e6, 110, {"loss": 11}, 500, 3000),
        ),
        link_series=(SeriesPoint("h1 -- s1 forward", "bps", 0.0, 8e6),),
        brokers={"broker": 1, "idle": 2},
        leaders=(LeaderSpan("in", 0, 1, -1.0, 10.0),),
        resources=(ResourceRow("broker", "h1", 0.2, 0.4, 1e8, 2e8, 3.0),),
        resource_series=(SeriesPoint("broker", "cpu", 0.0, 0.2),),
        gauges=(
            SeriesPoint("client g", "lag", 1.0, 12.0),
            SeriesPoint("program job", "score", 1.0, 0.9),
            *(
                SeriesPoint("kafka cluster", "under_replicated", at_s, n)
                for at_s, n in ((-9, 7), (-1, 1), (3, 2), (6, 0))
            ),
        ),
        sampled=(SampledRow("memory", "h1", "pss_bytes", 3, {"max": 900.0, "last": 700.0}),),
        phases=(PhaseRow("network", -3.0, -2.0), PhaseRow("brokers", -2.0, 0.0), PhaseRow("load", 0.0, 10.0)),
        fidelity=Fidelity(True, "in time", histogram=_histogram(0.1, 100), suspect=()),
    )
    return replace(whole, **changes)


def _histogram(ms: float, count: int) -> Histogram:
    value = round(ms * MS)
    return Histogram(((value, count),), float(value * count), value, value)


def outcome(text: str, **changes: Any) -> str:
    return judge_one(parse_expectation(text), analysis(**changes), []).outcome


@pytest.mark.parametrize(
    "text",
    [
        "sent == 1000", "acknowledged(topic=in) == 990", "failed == 10", "received == 992", "lost == 3",
        "lost(group=g) <= 3", "in_flight == 0", "redelivered == 5", "duplicated == 5", "duplicated_in_log == 0",
        "out_of_order == 0", "offset_gaps == 3", "delivered > 98.9 %", "latency.p99 <= 10 ms", "latency.mean < 11 ms",
        "ack_latency(producer=gen) < 6 ms", "throughput == 99/s", "throughput.min == 99/s",
        "throughput_bytes(topic=in) > 9 KB/s", "link_throughput(link=h1 -- s1) == 8 Mbps", "link_use == 80 %",
        "link_drops(cause=loss) == 11", "link_loss(port=s1:2) == 10 %", "queue(host=h1) == 500 B",
        "link_bytes == 3 kB", "leader_changes(topic=in) == 0", "controller_changes == 0",
        "partitions_led(component=broker) == 1", "partitions_led(component=idle) == 0",
        "partitions_led(topic=in) <= 1",
        "cpu(component=broker) == 20 %", "memory < 201 MB", "startup == 3 s",
        "startup(phase=brokers) == 2 s", "first_receipt == 4.5 s", "first_receipt(topic=out) == 5.5 s",
        "first_receipt(consumer=see) == 4.5 s",
        "lateness < 1 ms", "unasked_drops == 0", "lag == 12", "lag(group=g) == 12",
        "sample(metric=score) > 0.5", "died == 0", "restarts == 0", "unknown_received == 0",
        "received(producer=gen) == 992", "under_replicated == 2", "under_replicated.last == 0",
        "sample.max(source=memory, object=h1) == 900", "sample(metric=pss_bytes) == 700",
        "sample.max(source=kafka, metric=under_replicated) == 7",
    ],
)  # fmt: skip
def test_what_holds_passes(text: str) -> None:
    judgement = judge_one(parse_expectation(text), analysis(), [])

    assert (judgement.outcome, judgement.reason) == ("pass", "")


def test_a_first_receipt_is_unknown_without_a_receipt_and_in_records_that_do_not_tell_when_the_command_began() -> (
    None
):
    assert outcome("first_receipt(topic=nothing) < 9 s") == "unknown"
    assert outcome("first_receipt < 9 s", began_s=None) == "unknown"


def test_a_partition_that_was_led_for_a_part_of_the_load_counts_as_that_part() -> None:
    leaders = (
        LeaderSpan("in", 0, 1, -5.0, 2.5),
        LeaderSpan("in", 0, -1, 2.5, 5.0),
        LeaderSpan("in", 0, 2, 5.0, 90.0),
    )

    assert outcome("partitions_led(component=broker) == 0.25", leaders=leaders) == "pass"
    assert outcome("partitions_led(component=idle) == 0.5", leaders=leaders) == "pass"
    assert outcome("partitions_led == 0", leaders=(), brokers={}) == "unknown"


def test_a_cpu_limit_that_is_not_in_force_leaves_no_figure_of_performance() -> None:
    """Nobody may take the figures of a host without its limit for those of the experiment."""
    what = "the cpu limit of h3 is not in force: it is not writable; run as root"
    events = [{"event": "warning", "what": what, "unenforced": "cpu"}]
    judged = {
        text: judge_one(parse_expectation(text), analysis(), events)
        for text in ("latency < 1 h", "throughput > 0/s", "startup > 0 s", "sample(metric=score) > 0", "lost == 3")
    }

    assert judged.pop("lost == 3").outcome == "pass"
    assert {(one.outcome, one.reason, one.measured) for one in judged.values()} == {
        ("unknown", f"not measurable here: {what}", None)
    }


def test_bytes_of_a_link_are_unknown_where_an_earlier_version_did_not_count_them() -> None:
    old = tuple(replace(row, all_bytes=None) for row in analysis().links)

    assert outcome("link_bytes > 0 B", links=old) == "unknown"


def test_a_memory_limit_that_is_not_in_force_changes_no_figure() -> None:
    events = [{"event": "warning", "what": "the memory limit of h3 is not in force", "unenforced": "memory"}]

    assert judge_one(parse_expectation("latency < 1 s"), analysis(), events).outcome == "pass"


@pytest.mark.parametrize("text", ["lost == 0", "latency < 9 ms", "throughput > 100/s", "link_throughput < 1 Mbps"])
def test_what_does_not_hold_fails(text: str) -> None:
    assert outcome(text) == "fail"


@pytest.mark.parametrize(
    "text",
    [
        "partitions_led(component=nobody) == 0",
        "lost(topic=nothing*) == 0", "latency(consumer=nobody) < 1 s", "sync_latency < 1 s", "recovery < 1 s",
        "link_drops(link=h9*) == 0", "cpu(component=nothing) < 1 %", "rows_missing == 0",
        "lost(fault=cut) == 0", "sample(metric=nothing) > 1", "throughput(topic=out) > 1/s",
    ],
)  # fmt: skip
def test_no_rows_is_unknown(text: str) -> None:
    judgement = judge_one(parse_expectation(text), analysis(), [])

    assert judgement.outcome == "unknown"
    assert judgement.reason


def test_a_number_that_a_check_stated_is_judged_whatever_the_fidelity() -> None:
    stated = (
        SeriesPoint("check fraud", "recall", 9.0, 0.8),
        SeriesPoint("check fraud", "mismatches", 9.0, 0.0),
    )
    bad = Fidelity(False, "late in 5 of 10 seconds")

    assert outcome("result(check=fraud, name=recall) >= 0.7", gauges=stated, fidelity=bad) == "pass"
    assert outcome("result(check=fraud, name=recall) >= 0.9", gauges=stated, fidelity=bad) == "fail"
    assert outcome("result(check=other, name=recall) >= 0.7", gauges=stated) == "unknown"


def test_a_failure_shows_the_offending_messages() -> None:
    judgement = judge_one(parse_expectation("lost == 0"), analysis(), [])

    assert judgement.evidence == ("gen #17 in in/0 offset 20: not received by g",)
    assert (judgement.measured, judgement.shown) == (3.0, "3")


def test_bad_fidelity_leaves_delivery_alone() -> None:
    bad = Fidelity(False, "late in 5 of 10 seconds")

    assert outcome("lost == 3", fidelity=bad) == "pass"
    assert outcome("lost == 0", fidelity=bad) == "fail"


def test_unmeasured_fidelity_is_not_taken_for_good() -> None:
    unmeasured = Fidelity(None, "nobody measured", lacks="nobody measured")

    assert outcome("latency < 9 ms", fidelity=unmeasured) == "unknown"
    assert outcome("cpu < 90 %", fidelity=unmeasured) == "unknown"


def test_what_nobody_observed_can_only_be_decided_when_it_makes_no_difference() -> None:
    blind = (
        AuditRow("in", 0, "gen", "g", lost=3),
        AuditRow("in", 0, "own", "g", unknown=5, why_unknown="own program"),
    )

    assert outcome("lost == 0", audit=blind) == "fail"
    assert outcome("lost <= 3", audit=blind) == "unknown"
    assert outcome("lost <= 8", audit=blind) == "pass"
    assert outcome("lost == 5", audit=blind) == "unknown"
    assert outcome("lost(producer=gen) == 3", audit=blind) == "pass"


def test_every_object_must_hold_and_the_worst_is_named() -> None:
    two = (*analysis().resource_series, SeriesPoint("other", "cpu", 0.0, 0.7))
    rows = (*analysis().resources, ResourceRow("other", "h2", 0.7, 0.7, 1.0, 1.0, 1.0))

    judgement = judge_one(parse_expectation("cpu < 50 %"), analysis(resources=rows, resource_series=two), [])

    assert (judgement.outcome, judgement.shown) == ("fail", "70 % (other)")


def test_a_check_that_crashes_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setitem(METERS, "lost", broken)

    judgement = judge_one(parse_expectation("lost == 0"), analysis(), [])

    assert judgement.outcome == "unknown"
    assert "oops" in judgement.reason


def test_a_component_that_died_unasked_fails_the_run() -> None:
    events = [{"event": "died", "component": "broker", "how": "signal 9", "restarts_left": 0, "t_s": 2.0}]

    verdict = judge(["lost == 3"], analysis(), events)

    assert (verdict.outcome, verdict.exit_code) == ("fail", 1)
    assert verdict.failures == ("broker died unasked at 2.000 s: signal 9",)


def test_a_death_that_was_expected_or_provided_for_does_not() -> None:
    died = {"event": "died", "component": "job", "how": "exit 1"}

    assert judge(["died(component=job) == 1"], analysis(), [died | {"restarts_left": 0}]).outcome == "pass"
    assert judge([], analysis(), [died | {"restarts_left": 1}]).outcome == "pass"
    assert judge(["died(component=x) == 0"], analysis(), [died | {"restarts_left": 0}]).outcome == "fail"


def test_a_fault_that_failed_makes_the_verdict_unknown() -> None:
    verdict = judge([], analysis(), [{"event": "fault-failed", "reason": "no such link"}])

    assert (verdict.outcome, verdict.exit_code) == ("unknown", 3)
    assert verdict.doubts == ("a fault failed: no such link",)


def test_fail_comes_before_unknown_and_nothing_expected_passes() -> None:
    assert judge(["lost == 0", "recovery < 1 s"], analysis(), []).outcome == "fail"
    assert judge(["lost == 3", "recovery < 1 s"], analysis(), []).outcome == "unknown"
    assert judge([], analysis(), []).exit_code == 0


def test_changes_of_leaders_are_counted_by_topic() -> None:
    changes = (Change("leader", "in/0", 1.0, 1, 2), Change("leader", "out/0", 1.0, 1, 2))

    assert outcome("leader_changes(topic=in) == 1", changes=changes) == "pass"
    assert outcome("leader_changes == 2", changes=changes) == "pass"


def test_a_verdict_walks_into_json_and_back() -> None:
    verdict = judge(["lost == 0", "latency < 1 s"], analysis(), [])

    assert Verdict.from_json(verdict.to_json()) == verdict


def test_every_meter_belongs_to_a_metric_and_every_metric_of_any_run_has_one() -> None:
    assert set(METERS) <= {metric.name for metric in BUILT_IN}
    assert {metric.name for metric in BUILT_IN if not metric.needs} <= set(METERS)


def test_statistics_of_lists() -> None:
    values = [3.0, 1.0, 2.0, 4.0]

    assert [compute_statistic(values, stat) for stat in ("min", "max", "mean", "p50", "p99", "last", "total")] == [
        1.0, 4.0, 2.5, 2.0, 4.0, 4.0, 10.0,
    ]  # fmt: skip
    assert compute_statistic([], "mean") is None


def test_the_lag_of_a_consumer_is_that_of_its_groups() -> None:
    events = [{"event": "assigned", "component": "see", "group": "g", "t_s": -1.0}]
    mine, other = parse_expectation("lag(consumer=see) < 13"), parse_expectation("lag(consumer=other) < 13")
    assert judge_one(mine, analysis(), events).outcome == "pass"
    assert judge_one(other, analysis(), events).outcome == "unknown"


def test_an_expectation_whose_metric_went_with_its_plug_in_is_unknown() -> None:
    verdict = judge(["lost <= 3", "of-a-plug-in == 0"], analysis(), [])
    assert [one.outcome for one in verdict.judgements] == ["pass", "unknown"]
    assert "unknown metric 'of-a-plug-in'" in verdict.judgements[1].reason
    assert verdict.outcome == "unknown"


def query_failed(t_s: float = 4.0, **more: Any) -> dict[str, Any]:
    return {
        "event": "query-failed",
        "component": "job",
        "query": "counts",
        "cause": "boom",
        "t_s": t_s,
        **more,
    }


def test_a_failed_query_that_the_experiment_speaks_of_is_judged_by_that_expectation_alone() -> None:
    for text in ("query_failures == 1", "query_failures(engine=j*, query=counts) >= 1"):
        assert judge([text], analysis(), [query_failed()]).outcome == "pass"
    other = judge(["query_failures(engine=other) == 0"], analysis(), [query_failed()])
    assert other.failures


def test_a_program_that_ends_with_its_query_is_judged_by_its_end() -> None:
    restarted = {"event": "died", "component": "job", "t_s": 5.5, "restarts_left": 1}
    assert not judge([], analysis(), [query_failed(), restarted]).failures
    killed = {"event": "stopped", "component": "job", "t_s": 3.9, "why": "fault bad"}
    assert not judge([], analysis(), [query_failed(), killed]).failures
    died = {"event": "died", "component": "job", "t_s": 3.8, "how": "exit code 1"}
    assert judge([], analysis(), [query_failed(), died]).failures == ("job died unasked at 3.800 s: exit code 1",)
    much_later = {"event": "died", "component": "job", "t_s": 40.0, "restarts_left": 1}
    somebody_else = {"event": "died", "component": "see", "t_s": 4.0, "restarts_left": 1}
    assert judge([], analysis(), [query_failed(), much_later, somebody_else]).failures


def test_a_query_that_fails_when_the_run_stops_its_program_is_no_failure() -> None:
    stop = {"event": "phase", "phase": "stop", "t_s": 12.0}
    assert not judge([], analysis(), [stop, query_failed(12.5)]).failures
    assert judge(["query_failures == 0"], analysis(), [stop, query_failed(12.5)]).outcome == "pass"
    assert judge(["query_failures == 0"], analysis(), [query_failed(11.5), stop]).outcome == "fail"
    stopped = {"event": "stopped", "component": "job", "t_s": 12.1}
    assert judge([], analysis(), [query_failed(11.5), stop, stopped]).failures


def test_a_verdict_goes_through_its_expectations() -> None:
    verdict = judge(["lost == 0", "received > 1"], analysis(), [])
    assert [one.text for one in verdict] == ["lost == 0", "received > 1"]
    assert bool(judge([], analysis(), [])), "a verdict without expectations is still one"


def test_the_controller_is_watched_with_the_leaders_and_never_alone() -> None:
    assert outcome("controller_changes == 0") == "pass"
    assert outcome("controller_changes == 0", leaders=()) == "unknown"


def test_a_component_that_is_not_in_the_run_did_not_survive_it() -> None:
    ready = [{"event": "ready", "component": "broker-h1", "host": "h1"}]
    right, wrong = "died(component=broker-h1) == 0", "died(component=borker-h1) == 0"
    assert judge_one(parse_expectation(right), analysis(), ready).outcome == "pass"
    assert judge_one(parse_expectation(wrong), analysis(), ready).outcome == "unknown"


def test_a_check_that_wants_to_end_the_program_is_unknown_and_the_others_are_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def leave(*_: object) -> None:
        raise SystemExit(0)

    monkeypatch.setitem(METERS, "lost", leave)
    verdict = judge(["lost == 0", "sent == 1000"], analysis(), [])
    assert [one.outcome for one in verdict.judgements] == ["unknown", "pass"]


@pytest.mark.parametrize("text", ["sample.max(metric=score) < 5", "sample(metric=score) != 1", "sample.min >= 0"])
def test_what_is_not_a_number_decides_nothing(text: str) -> None:
    gauges = tuple(SeriesPoint("program job", "score", float(at), value) for at, value in enumerate((10, nan, 3)))
    assert outcome(text, gauges=gauges) == "unknown"


def rows_of_a_table(**rows: float) -> tuple[SeriesPoint, ...]:
    return tuple(SeriesPoint("store db/t", f"rows_{what}", 1.0, number) for what, number in rows.items())


def test_no_row_missing_proves_nothing_where_none_was_expected() -> None:
    assert outcome("rows_missing == 0", gauges=rows_of_a_table(expected=5, missing=0)) == "pass"
    assert outcome("rows_missing == 0", gauges=rows_of_a_table(expected=0, missing=0)) == "unknown"


def test_no_row_doubled_proves_nothing_where_there_is_none() -> None:
    assert outcome("rows_doubled == 0", gauges=rows_of_a_table(present=5, doubled=0)) == "pass"
    assert outcome("rows_doubled == 0", gauges=rows_of_a_table(present=0, doubled=0)) == "unknown"


@pytest.mark.parametrize("text", ["throughput < 200/s", "throughput.max(topic=in) < 200/s", "throughput == 99/s"])
def test_a_rate_has_no_upper_bound_beside_a_producer_that_nobody_observed(text: str) -> None:
    hidden = ClientRow("producer", "own", "in", observed=False)
    assert outcome(text) == "pass"
    assert outcome(text, clients=(hidden,)) == "unknown"
    assert outcome("throughput > 50/s", clients=(hidden,)) == "pass"


@pytest.mark.parametrize("reason", [GAP, NOT_SAMPLED, NO_LOOK])
def test_the_emulation_is_not_good_where_nobody_sampled_it(reason: str) -> None:
    unsampled = replace(analysis().fidelity, suspect=(SuspectSpan(2.0, 10.0, (reason,)),))
    for text in ("lateness.p99 < 1 ms", "lateness.max < 1 ms", "unasked_drops == 0"):
        assert outcome(text) == "pass"
        assert outcome(text, fidelity=unsampled) == "unknown"
    assert outcome("lateness.max < 0.01 ms", fidelity=unsampled) == "fail"
