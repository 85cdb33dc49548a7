"""What suspect time does to figures of performance: bounds, and unknown only where they matter."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from stream2gym.analysis.histogram import Histogram, merge_histograms
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    Change,
    FaultRow,
    Fidelity,
    FlowPoint,
    LatencyRow,
    LeaderSpan,
    LinkRow,
    OutageRow,
    PhaseRow,
    ReceivedRow,
    RecoveryRow,
    ResourceRow,
    SentRow,
    SeriesPoint,
    SuspectSpan,
)
from stream2gym.judge.best_case import show_times
from stream2gym.judge.compare import compare
from stream2gym.judge.judge import judge_one
from stream2gym.judge.verdict import Judgement
from stream2gym.kinds.expectation_grammar import parse_expectation
from stream2gym.kinds.metrics import BUILT_IN, Count, Metric
from stream2gym.sweeps.measure_responses import measure_responses
from stream2gym.sweeps.point import WantedResponse

MS = 1_000_000
STARVED = SuspectSpan(3.0, 4.0, ("threads of broker waited for a CPU",))
MILD = SuspectSpan(3.0, 4.0, ("packets left late",), mild=True)
GOOD = Fidelity(True, "in time", suspect=(), lacks="")
BAD = Fidelity(False, "suspect", suspect=(STARVED,), lacks="", remedy="stop other programs")


def hist(*pairs: tuple[float, int]) -> Histogram:
    """Milliseconds and counts."""
    values = [(round(ms * MS), count) for ms, count in pairs]
    return Histogram(
        tuple(values),
        float(sum(v * n for v, n in values)),
        min(v for v, _ in values),
        max(v for v, _ in values),
    )


def analysis(fidelity: Fidelity = BAD, **changes: Any) -> Analysis:
    """900 messages took 50 ms in clear time, 100 took 700 ms in suspect time; the path takes 20 ms."""
    clear, suspect = hist((50, 900)), hist((700, 100))
    whole = Analysis(
        run="r",
        load_s=10.0,
        step_s=1.0,
        sent=(SentRow("in", 0, "gen", 1000, 940, bytes=100_000, acknowledged_bytes=94_000),),
        audit=(AuditRow("in", 0, "gen", "g", 940, 940),),
        latency=(
            LatencyRow(
                "latency", "in", 0, "gen", "g", "see", histogram=merge_histograms([clear, suspect]),
                clear=None if fidelity is GOOD else clear, floor_s=0.02,
            ),
        ),
        flow=tuple(
            FlowPoint("acknowledged", "in", "gen", "", float(s), 40 if s == 3 else 100, 4000 if s == 3 else 10_000)
            for s in range(10)
        ),
        offered=tuple(FlowPoint("due", "in", "gen", "", float(s), 100, 10_000) for s in range(10)),
        links=(LinkRow("h1 -- s1", "forward", "h1", 1, "s1", 2, 100, 1, 8e6, 9e6, 10e6, 110, {}, 500),),
        link_series=(SeriesPoint("h1 -- s1 forward", "bps", 0.0, 8e6),),
        leaders=(LeaderSpan("in", 0, 1, -1.0, 10.0),),
        phases=(PhaseRow("network", -3.0, -2.0), PhaseRow("brokers", -2.0, 0.0), PhaseRow("load", 0.0, 10.0)),
        fidelity=fidelity,
    )  # fmt: skip
    return replace(whole, **changes)


def judged(text: str, *events: dict[str, Any], **changes: Any) -> Judgement:
    return judge_one(parse_expectation(text), analysis(**changes), list(events))


def outcomes(*texts: str, **changes: Any) -> list[str]:
    return [judged(text, **changes).outcome for text in texts]


# ---- latencies


def test_a_bound_that_holds_however_slow_the_machine_was_passes() -> None:
    found = judged("latency.p99 < 20 s")

    assert (found.outcome, found.measured, found.low, found.high) == ("pass", 0.7, 0.05, 0.7)


def test_a_bound_that_even_the_best_case_breaks_fails() -> None:
    assert judged("latency.p99 < 40 ms").outcome == "fail"


def test_a_bound_between_best_case_and_measurement_is_unknown_with_the_seconds_and_a_remedy() -> None:
    found = judged("latency.p99 < 500 ms")

    assert found.outcome == "unknown"
    assert "from 3 to 4 s" in found.reason
    assert "broker waited for a CPU" in found.reason
    assert "stop other programs" in found.reason
    assert found.shown == "700 ms (50 ms to 700 ms)"


def test_without_suspect_time_the_measurement_decides() -> None:
    found = judged("latency.p99 < 500 ms", fidelity=GOOD)

    assert (found.outcome, found.low, found.high) == ("fail", 0.7, 0.7)


def test_messages_of_suspect_time_count_at_what_their_links_take() -> None:
    found = judged("latency.mean < 1 s")

    assert found.low == pytest.approx((900 * 0.05 + 100 * 0.02) / 1000)


def test_no_message_is_quicker_than_its_links() -> None:
    mild = Fidelity(False, "late", suspect=(MILD,), lacks="", lateness_s=0.020)
    row = (LatencyRow("latency", "in", histogram=hist((21, 100)), floor_s=0.02),)

    assert judged("latency.min >= 20 ms", fidelity=mild, latency=row).outcome == "pass"
    assert judged("latency.min >= 20 ms").outcome == "pass"


def test_packets_that_were_a_little_late_do_not_excuse_seconds() -> None:
    """Measured as 11.565 s with packets 2 ms late: no machine would have made that 3 s."""
    slow = (LatencyRow("latency", "in", 0, "gen", "g", "see", histogram=hist((11_565, 1000))),)
    mild = Fidelity(False, "late", suspect=(MILD,), lacks="", lateness_s=0.002)

    bounds = ("latency.p99 < 3 s", "latency.p99 < 11.56 s", "latency.p99 < 12 s")
    assert outcomes(*bounds, fidelity=mild, latency=slow) == ["fail", "unknown", "pass"]


def test_the_few_packets_that_were_later_still_may_have_made_the_slowest_messages() -> None:
    row = (LatencyRow("latency", "in", histogram=hist((10, 999), (90, 1))),)
    tail = Fidelity(True, "in time", suspect=(), lacks="", late_share=0.0005)

    assert outcomes("latency.max < 50 ms", "latency.p99 < 9 ms", fidelity=tail, latency=row) == [
        "unknown",
        "fail",
    ]


def test_late_messages_of_suspect_time_may_be_the_machines_doing() -> None:
    slow = LatencyRow(
        "latency", "in", 0, "gen", "g", "see", histogram=hist((2000, 5), (3000, 7)), clear=hist((2000, 5))
    )
    audit = (AuditRow("in", 0, "gen", "g", 12, 12, late=12),)

    found = judged("late <= 6", latency=(slow,), audit=audit)

    assert (found.outcome, found.low, found.high) == ("unknown", 5.0, 12.0)


# ---- other durations


def test_a_startup_phase_in_suspect_time_may_have_taken_no_time() -> None:
    busy = Fidelity(False, "", suspect=(SuspectSpan(-1.5, -1.0, ("x",)),), lacks="")

    found = judged("startup < 2 s", fidelity=busy)

    assert (found.outcome, found.low, found.high) == ("unknown", 1.0, 3.0)
    assert outcomes("startup < 2 s", "startup < 5 s", fidelity=BAD) == ["fail", "pass"]


def test_a_first_receipt_that_waited_in_suspect_time_may_have_come_at_once() -> None:
    first = {"began_s": -4.0, "received": (ReceivedRow("out", 0, "g", "see", 10, 0, first_s=1.0),)}
    busy = Fidelity(False, "", suspect=(SuspectSpan(-1.5, -1.0, ("x",)),), lacks="")

    found = judged("first_receipt(topic=out) < 4 s", fidelity=busy, **first)

    assert (found.outcome, found.low, found.high) == ("unknown", 0.0, 5.0)
    assert outcomes("first_receipt < 4 s", "first_receipt < 6 s", fidelity=BAD, **first) == ["fail", "pass"]


@pytest.mark.parametrize(("from_s", "expected"), [(2.5, "unknown"), (8.0, "fail")])
def test_a_recovery_in_suspect_time_may_be_the_machines_doing(from_s: float, expected: str) -> None:
    faults = (FaultRow("cut", 1, "down", ("h1 -- s1",), from_s, from_s + 1, 10.0),)
    recovery = (RecoveryRow("cut", 1, "in", 100.0, 0.0, recovery_s=1.5, detection_s=0.1),)

    assert judged("recovery(fault=cut) < 1 s", faults=faults, recovery=recovery).outcome == expected
    assert judged("recovery(fault=cut) < 5 s", faults=faults, recovery=recovery).outcome == "pass"


def test_a_silence_in_suspect_time_may_be_the_machines_doing() -> None:
    faults = (FaultRow("cut", 1, "down", ("h1 -- s1",), 2.0, 5.0, 10.0),)
    outages = (OutageRow("cut", 1, "acknowledged", "in", "gen", "", 3.0, 3.0),)

    assert outcomes("unavailable < 2 s", "unavailable < 4 s", faults=faults, outages=outages) == [
        "unknown",
        "pass",
    ]


# ---- rates


def test_a_rate_may_have_been_what_was_offered() -> None:
    assert outcomes("throughput > 90/s", "throughput > 97/s", "throughput > 101/s") == [
        "pass",
        "unknown",
        "fail",
    ]
    assert outcomes("throughput.min > 30/s", "throughput.min > 90/s", "throughput.min > 101/s") == [
        "pass", "unknown", "fail",
    ]  # fmt: skip
    assert judged("throughput.p50 > 101/s").outcome == "fail"
    assert judged("throughput.p50 > 1/s").outcome == "pass"
    assert judged("throughput_bytes > 1 KB/s").high == pytest.approx(10_000)


def test_a_load_that_the_machine_stretched_is_held_against_its_schedule() -> None:
    """1000 messages in ten seconds were offered; the machine took twenty for them."""
    slow = Fidelity(False, "", suspect=(SuspectSpan(0.0, 20.0, ("x",)),), lacks="")
    offered = analysis().offered

    assert judged("throughput > 90/s", fidelity=slow, load_s=20.0, offered=offered).outcome == "unknown"
    assert judged("throughput > 101/s", fidelity=slow, load_s=20.0, offered=offered).outcome == "fail"


def test_a_producer_without_a_schedule_has_no_best_rate() -> None:
    found = judged("throughput > 500/s", offered=())

    assert (found.outcome, found.high) == ("unknown", inf)


def test_the_highest_rate_may_lie_anywhere() -> None:
    assert judged("throughput.max < 200/s").outcome == "unknown"
    assert judged("throughput.max < 200/s", fidelity=GOOD).outcome == "pass"


def test_the_consumers_of_a_group_receive_at_most_what_was_offered_together() -> None:
    """Second 3 is suspect, and 100 messages were due in it: 30 and 10 of them were received."""
    flow = tuple(
        FlowPoint("received", "in", name, "g", float(s), many if s == 3 else 50, 0)
        for name, many in (("left", 30), ("right", 10))
        for s in range(10)
    )

    together = judged("delivery_rate > 98/s", flow=flow)
    assert (together.measured, together.low, together.high) == (94, 94, 100)
    # One of them may have received what the other did.
    alone = judged("delivery_rate(consumer=left) > 50/s", flow=flow)
    assert (alone.measured, alone.high) == (48, 55)
    # Another group receives all of it once more.
    other = tuple(replace(point, client="copy", group="h") for point in flow[:10])
    assert judged("delivery_rate > 98/s", flow=(*flow, *other)).high == 155


# ---- either way


def test_what_may_move_either_way_is_unknown_with_suspect_time() -> None:
    assert judged("link_use < 90 %").outcome == "unknown"
    assert judged("link_use < 90 %", fidelity=GOOD).outcome == "pass"
    assert "unbounded" in judged("link_use < 90 %").shown


def batches(*of: tuple[float, float]) -> tuple[SeriesPoint, ...]:
    """Batches of a query, by when they ended and how long they took, in seconds."""
    return tuple(SeriesPoint("spark job.query", "batch_ms", end_s, took_s * 1e3) for end_s, took_s in of)


def test_batches_of_suspect_time_and_those_after_them_may_have_taken_any_time() -> None:
    # Time from 3 to 4 s is suspect. It shapes the batch that runs then and the next one.
    quiet = [(1.0, 0.9), (2.0, 1.0), (2.9, 0.8), (6.0, 1.1), (7.0, 0.9), (8.0, 1.0), (9.0, 1.0)]
    gauges = batches(*quiet, (3.9, 0.95), (4.9, 1.0))

    found = judged("batch_time.p50 < 2 s", gauges=gauges)

    assert (found.outcome, found.low, found.high) == ("pass", 0.9, 1.0)
    assert judged("batch_time.max < 2 s", gauges=gauges).outcome == "unknown"
    assert judged("batch_time.p50 < 950 ms", gauges=gauges).outcome == "unknown"
    assert judged("batch_time.p50 < 950 ms", gauges=gauges, fidelity=GOOD).outcome == "fail"


def test_one_long_batch_of_suspect_time_may_stand_for_many() -> None:
    gauges = batches((0.4, 0.4), (0.8, 0.4), (1.2, 0.4), (5.2, 4.0))

    assert judged("batch_time.p50 < 1 s", gauges=gauges).outcome == "unknown"
    assert judged("batch_time.p50 < 1 s", gauges=gauges, fidelity=GOOD).outcome == "pass"


def test_nothing_is_known_of_batches_where_all_met_suspect_time() -> None:
    found = judged("batch_time.p50 < 9 s", gauges=batches((3.5, 0.9), (4.5, 1.0)))

    assert (found.outcome, found.low, found.high) == ("unknown", 0.0, inf)


def test_suspect_time_after_the_load_leaves_figures_of_the_load_alone() -> None:
    after = Fidelity(True, "", suspect=(SuspectSpan(10.0, 11.0, ("x",)),), lacks="")

    assert judged("link_use < 90 %", fidelity=after).outcome == "pass"


def test_an_election_in_suspect_time_accuses_nobody() -> None:
    then = (Change("leader", "in/0", 3.5, 1, 2),)
    before = (Change("leader", "in/0", 1.5, 1, 2),)

    assert judged("leader_changes == 0", changes=then).outcome == "unknown"
    assert judged("leader_changes == 0", changes=before).outcome == "fail"
    assert judged("leader_changes >= 1", changes=before).outcome == "pass"
    assert judged("leader_changes == 0", changes=then, fidelity=GOOD).outcome == "fail"


def test_who_leads_is_known_unless_it_changed_in_suspect_time() -> None:
    led = {"brokers": {"b": 1}, "leaders": (LeaderSpan("in", 0, 1, -1.0, 20.0),)}
    then = (Change("leader", "in/0", 3.5, 1, 2),)
    before = (Change("leader", "in/0", 1.5, 1, 2),)

    assert judged("partitions_led == 1", **led).outcome == "pass"
    assert judged("partitions_led == 1", changes=before, **led).outcome == "pass"
    assert judged("partitions_led == 1", changes=then, **led).outcome == "unknown"
    assert judged("partitions_led == 1", changes=then, fidelity=GOOD, **led).outcome == "pass"


def test_a_rebalance_in_suspect_time_accuses_nobody() -> None:
    events = [
        {"event": "assigned", "group": "g", "component": "see", "t_s": -1.0},
        {"event": "assigned", "group": "g", "component": "see", "t_s": 3.2},
    ]

    assert judged("rebalances == 0", *events).outcome == "unknown"
    assert judged("rebalances == 0", *events, fidelity=GOOD).outcome == "fail"


def test_partitions_that_packets_show_to_be_read_are_no_rebalance() -> None:
    """They are told when the run is over. When they were assigned nobody saw."""
    seen = {"event": "assigned", "group": "g", "component": "own", "how": "wire", "t_s": 12.0}
    own = {"event": "assigned", "group": "k", "component": "see", "t_s": -1.0}
    assert judged("rebalances == 0", seen, own, fidelity=GOOD).outcome == "pass"
    assert judged("rebalances(group=g) == 0", seen, own, fidelity=GOOD).outcome == "unknown"


# ---- what the record lacks


def test_a_run_of_an_earlier_version_says_what_it_lacks() -> None:
    old = Fidelity.from_json({"good": True, "reason": "packets left in time"})

    found = judged("link_use < 90 %", fidelity=old)

    assert found.outcome == "unknown"
    assert "did not look for suspect time" in found.reason
    assert outcomes("latency.p99 < 500 ms", "latency.p99 < 1 s", fidelity=old) == ["unknown", "pass"]


def test_facts_stay_facts() -> None:
    lost = (AuditRow("in", 0, "gen", "g", 940, 937, lost=3),)

    assert outcomes("lost == 0", "lost == 3", audit=lost) == ["fail", "pass"]


# ---- declarations


def test_every_metric_says_how_a_slow_machine_moves_it() -> None:
    moved = {metric.name: metric.moved_by_slow_machine(metric.stats[0]) for metric in BUILT_IN}

    up = {name for name, movement in moved.items() if movement == "up"}
    assert up == {
        "late", "latency", "ack_latency", "send_delay", "sync_latency", "trace_latency", "startup",
        "first_receipt", "unavailable", "recovery", "drain_time",
    }  # fmt: skip
    down = {name for name, movement in moved.items() if movement == "down"}
    assert down == {"throughput", "throughput_bytes", "delivery_rate", "delivery_rate_bytes"}
    for metric in BUILT_IN:
        assert (moved[metric.name] == "none") == (metric.about in ("delivery", "emulation")), metric.name


def test_a_metric_of_a_plug_in_may_move_either_way() -> None:
    assert Metric("mine", "x", Count, "performance").moved_by_slow_machine("total") == "either"


# ---- in words


def test_times_are_joined_and_counted() -> None:
    spans = [SuspectSpan(s, s + 0.5, ()) for s in (1.0, 1.5, 3.0, 4.0, 5.0, 6.0, 7.0)]

    assert show_times(spans[:3]) == "from 1 to 2 s and from 3 to 3.5 s"
    assert show_times(spans).endswith("and 1 times more")


# ---- compare


def test_a_run_that_is_worse_only_as_measured_is_unknown_and_its_bounds_are_told() -> None:
    good = analysis(GOOD, latency=(LatencyRow("latency", "in", histogram=hist((100, 1000))),))

    found = compare([("a", good, []), ("b", analysis(), [])], tolerance=0.1)

    row = next(row for row in found.rows if row.text == "latency.p99")
    assert (row.outcome, row.low, row.high) == ("unknown", (0.1, 0.05), (0.1, 0.7))


# ---- responses of a sweep


def test_a_response_that_the_machine_may_have_shaped_says_only_that() -> None:
    used = ResourceRow("broker", "h1", 0.5, 0.9, 1e8, 2e8, 5.0)
    [found] = measure_responses([WantedResponse("memory", "memory.max")], analysis(resources=(used,)), [])

    assert (found.value, found.low, found.high) == (2e8, -inf, inf)
    assert found.reason.startswith("the machine may have shaped it: suspect from 3 to 4 s")


def test_what_a_gym_takes_of_the_machine_is_what_was_measured() -> None:
    used = ResourceRow("broker", "h1", 0.5, 0.9, 1e8, 2e8, 5.0)
    wanted = WantedResponse("memory", "memory.max", about="machine")
    [found] = measure_responses([wanted], analysis(resources=(used,)), [])

    assert (found.value, found.low, found.high, found.reason) == (2e8, 2e8, 2e8, "")


def test_a_response_without_a_value_says_why() -> None:
    [found] = measure_responses([WantedResponse("memory", "memory.max")], analysis(), [])

    assert (found.value, found.reason) == (None, "no such component was sampled")
