"""What a trace tells about delivery behind an engine counts whatever else the record says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import AuditRow, FaultRow, LatencyRow, MissingRow, RecoveryRow, TraceRow
from tests.unit.judge.test_nobody_saw_it import judged, outcome, traced

BESIDE = AuditRow("in", 0, "gen", "g", expected=800, received=800, copies=800)
BEHIND = AuditRow("out", 0, "job", "after", expected=166, received=166, copies=166)


@pytest.mark.parametrize("audited", [BESIDE, BEHIND], ids=["a consumer beside the engine", "an observed engine"])
def test_an_audit_of_other_groups_does_not_hide_what_a_trace_tells(audited: AuditRow) -> None:
    whole = replace(traced(), audit=(audited,))
    killed = replace(traced(recognised=166, missing=634, doubled=5), audit=(audited,))

    for text in (
        "lost == 0",
        "duplicated == 0",
        "delivered == 100 %",
        "lost(topic=out) == 0",
        "lost(group=after) == 0",
    ):
        assert outcome(text, whole) == "pass", text
        assert outcome(text, killed) == "fail", text
    assert judged("lost == 0", killed).shown == "634 (in to out)"
    # These ask about the audit alone.
    assert outcome("lost(topic=in) == 0", replace(killed, audit=(BESIDE,))) == "pass"
    assert outcome("lost(producer=*) == 0", killed) == "pass"
    # What the audit says fails beside a trace that is fine.
    assert outcome("lost == 0", replace(whole, audit=(replace(audited, lost=3),))) == "fail"


def test_what_the_audit_cannot_tell_stays_unknown_beside_a_trace_that_is_fine() -> None:
    silent = replace(BESIDE, received=0, copies=0, in_flight=800)
    open_ = replace(traced(), audit=(silent,))

    assert outcome("duplicated == 0", open_) == "unknown"
    assert outcome("lost == 0", open_) == "unknown"
    nothing = replace(traced(), audit=(AuditRow("in", -1, "gen", "g"),))
    assert outcome("lost == 0", nothing) == "unknown"
    assert outcome("delivered > 0 %", nothing) == "unknown"
    assert outcome("delivered > 99 %", replace(traced(missing=634), audit=nothing.audit)) == "fail"


def test_a_trace_that_nobody_could_follow_is_doubt_beside_the_others() -> None:
    blind = TraceRow("in", "dark", "value", 800, 0, "no recording consumer reads dark")
    both = replace(traced(), traces=(*traced().traces, blind))
    for text in (
        "lost == 0",
        "duplicated == 0",
        "delivered == 100 %",
        "results_missing == 0",
        "results_doubled == 0",
    ):
        assert outcome(text, both) == "unknown", text
        assert "no recording consumer reads dark" in judged(text, both).reason
        assert outcome(text, replace(both, audit=(BESIDE,))) == "unknown", text
    killed = replace(both, traces=(*traced(missing=634, doubled=5).traces, blind))
    for text in ("lost == 0", "duplicated == 0", "delivered > 99 %", "results_missing == 0", "results_doubled == 0"):
        assert outcome(text, killed) == "fail", text


def test_without_any_result_nobody_knows_of_further_ones() -> None:
    nothing = traced(recognised=0, missing=800)
    for text in ("results_doubled == 0", "duplicated == 0", "duplicated(topic=out) == 0"):
        assert outcome(text, nothing) == "unknown", text
        assert judged(text, nothing).reason == "no result of in was received in out"
    other = TraceRow("in", "more", "value", 800, 800, doubled=5)
    assert outcome("results_doubled == 0", replace(nothing, traces=(*nothing.traces, other))) == "fail"


def test_results_that_may_be_those_of_unacknowledged_messages_are_doubt() -> None:
    shared = traced(missing_more=3, why_more="3 messages of in failed")
    for text in ("results_missing == 0", "lost == 0", "delivered == 100 %"):
        assert outcome(text, shared) == "unknown", text
        assert judged(text, shared).reason == "3 messages of in failed"
    assert outcome("results_missing <= 3", shared) == "pass"
    more = traced(doubled_more=3, why_more="3 messages of in failed")
    assert outcome("results_doubled == 0", more) == "unknown"
    assert outcome("results_doubled <= 3", more) == "pass"
    assert outcome("results_doubled == 0", traced(doubled=1, doubled_more=3)) == "fail"


def test_messages_sent_with_acks_0_that_have_no_result_may_never_have_been_in_kafka() -> None:
    silent = traced(recognised=790, missing=10, unconfirmed_missing=10)

    assert outcome("results_missing == 0", silent) == "fail"
    assert outcome("lost == 0", silent) == "unknown"
    assert "10 messages sent with acks 0" in judged("lost == 0", silent).reason
    assert outcome("lost <= 10", silent) == "pass"
    assert outcome("lost == 0", traced(missing=12, unconfirmed_missing=10)) == "fail"


def test_latencies_of_results_that_may_be_those_of_others_have_bounds() -> None:
    def histogram(value_s: float) -> Histogram:
        value_ns = round(value_s * 1e9)
        return Histogram(((value_ns, 100),), 100.0 * value_ns, value_ns, value_ns)

    row = LatencyRow("trace_latency", "out", source="in", histogram=histogram(1.0), earliest=histogram(0.1))
    shared = replace(traced(), latency=(row,))
    for of in ("", "(of=received)"):
        assert outcome(f"trace_latency.p99{of} < 2 s", shared) == "pass"
        assert outcome(f"trace_latency.p99{of} < 500 ms", shared) == "unknown"
        assert outcome(f"trace_latency.p99{of} < 50 ms", shared) == "fail"
    assert "failed or unanswered" in judged("trace_latency.p99 < 500 ms", shared).reason
    gone = MissingRow("trace_latency", "out", source="in", histogram=histogram(9.0))
    assert outcome("trace_latency.p50 < 500 ms", replace(shared, missing=(gone,))) == "unknown"
    assert outcome("trace_latency.min < 50 ms", replace(shared, missing=(gone,))) == "fail"


def test_what_a_trace_misses_may_be_due_to_any_fault() -> None:
    fault = FaultRow("dead", 1, "kill", ("job",), 5.0, None, 10.0)
    part = RecoveryRow("dead", 1, "out", 100.0, 0.0)
    killed = replace(traced(missing=634, doubled=5), audit=(BESIDE,), faults=(fault,), recovery=(part,))

    assert outcome("lost(fault=dead) == 0", killed) == "unknown"
    assert "from in to out is attributed to no fault" in judged("lost(fault=dead) == 0", killed).reason
    assert outcome("duplicated(fault=dead) == 0", killed) == "unknown"
    assert outcome("lost(fault=dead) <= 634", killed) == "pass"
    fine = replace(traced(), audit=(BESIDE,), faults=(fault,), recovery=(part,))
    assert outcome("lost(fault=dead) == 0", fine) == "pass"
