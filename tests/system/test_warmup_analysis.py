"""The analysis of runs with a warm-up: delivery counts its messages, performance does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import analyse
from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.histogram import merge_histograms
from stream2gym.analysis.message_totals import count_totals
from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.judge import judge
from stream2gym.report.write import write_report

WARM, LOAD = 100, 200
Analyse = Callable[[FakeRun], Analysis]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with BackgroundSession() as early:
        yield early.session()


@pytest.fixture
def look(session: Any, tmp_path: Path) -> Analyse:
    return lambda run: analyse(run.write(tmp_path / "run"), session=session)


def warmed_up(**experiment: Any) -> FakeRun:
    """Ten seconds of warm-up with ten messages a second, then ten seconds of load with twenty."""
    run = FakeRun(
        topics=[{"name": "in"}, {"name": "out"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in", "rate": "20/s"}],
        consumers=[
            {"name": "see", "on": "h2", "topics": ["in"], "group": "g"},
            {"name": "end", "on": "h2", "topics": ["out"], "group": "k"},
        ],
        **experiment,
    )
    run.event("phase", -11.0, phase="warmup")
    return run


def due_s(seq: int) -> float:
    return -10.0 + seq / 10 if seq < WARM else (seq - WARM) / 20


def fill(run: FakeRun, *, lost: tuple[int, ...] = (), received_s: dict[int, float] | None = None) -> None:
    """Every message is acknowledged after 5 ms and received after 20 ms, but for those given."""
    for seq in range(WARM + LOAD):
        run.send(seq, due_s=due_s(seq))
        if seq not in lost:
            run.receive(seq, at_s=(received_s or {}).get(seq, due_s(seq) + 0.020))
    run.offsets("in", 0, 0, WARM + LOAD)


def measured(found: Analysis, *metrics: str, events: Any = ()) -> list[float | None]:
    return [one.measured for one in judge([f"{metric} >= 0" for metric in metrics], found, list(events)).judgements]


def count(found: Analysis, kind: str) -> int:
    return merge_histograms(row.histogram for row in found.latency if row.kind == kind).count


def test_a_message_that_is_lost_in_the_warm_up_is_lost(look: Analyse) -> None:
    run = warmed_up()
    fill(run, lost=(17,))
    found = look(run)
    assert measured(found, "lost", "sent", "acknowledged", "received") == [1, 300, 300, 299]
    assert [item.seq for item in found.evidence if item.claim == "lost"] == [17]
    (verdict,) = judge(["lost == 0"], found, []).judgements
    assert verdict.outcome == "fail"
    assert found.missing == (), "no latency lacks it"
    assert measured(found, "latency.max")[0] == pytest.approx(0.020, rel=0.01)


def test_what_is_duplicated_or_out_of_order_in_the_warm_up_counts_too(look: Analyse) -> None:
    run = warmed_up()
    fill(run, received_s={31: due_s(32) + 0.03})
    run.receive(40, at_s=-5.0)
    found = look(run)
    assert measured(found, "duplicated", "out_of_order") == [1, 1]


def test_a_slow_message_of_the_warm_up_is_in_no_latency(look: Analyse) -> None:
    run = warmed_up()
    fill(run, received_s={5: due_s(5) + 4.0, 99: 3.0})
    found = look(run)
    assert (count(found, "latency"), count(found, "ack_latency"), count(found, "send_delay")) == (LOAD, LOAD, LOAD)
    (highest,) = measured(found, "latency.max")
    assert highest == pytest.approx(0.020, rel=0.01)
    assert measured(found, "late") == [0]
    assert min(point.at_s for point in found.latency_series) >= 0
    assert sum(point.count for point in found.latency_series if point.kind == "latency") == LOAD


def test_a_slow_message_of_the_load_counts_beside_a_warm_up(look: Analyse) -> None:
    run = warmed_up()
    fill(run, received_s={150: due_s(150) + 4.0})
    found = look(run)
    assert measured(found, "late", "latency.max") == [1, pytest.approx(4.0, rel=0.01)]


def test_what_the_warm_up_left_behind_is_in_no_rate(look: Analyse) -> None:
    run = warmed_up()
    late = range(50, WARM)
    for seq in range(WARM + LOAD):
        run.send(seq, due_s=due_s(seq), ack_s=1.0 - due_s(seq) if seq in late else 0.005)
        run.receive(seq, at_s=1.5 if seq in late else due_s(seq) + 0.020)
    run.offsets("in", 0, 0, WARM + LOAD)
    found = look(run)
    assert measured(found, "throughput", "throughput.max", "delivery_rate.max(topic=in)") == [20.0, 20.0, 20.0]
    assert measured(found, "throughput_bytes") == [2000.0]
    assert measured(found, "lost", "received(topic=in)") == [0, 300]
    assert {point.kind: 0 for point in found.flow}.keys() == {"sent", "acknowledged", "received"}
    assert min(point.at_s for point in (*found.flow, *found.offered)) >= 0
    assert sum(point.messages for point in found.offered) == LOAD


def test_a_result_of_the_warm_up_counts_for_results_and_not_for_the_latency(look: Analyse) -> None:
    run = warmed_up(trace=[{"from": "in", "to": "out", "by": "value"}])
    for seq in range(WARM + LOAD):
        run.send(seq, due_s=due_s(seq), value=seq % WARM)
        run.receive(seq, at_s=due_s(seq) + 0.020)
        if seq != 299:
            slow_s = 9.0 if seq < WARM else 0.1
            at_s = min(due_s(seq) + slow_s, 0.05) if seq < WARM else due_s(seq) + slow_s
            run.receive(None, topic="out", offset=seq, group="k", consumer="end", value=seq % WARM, at_s=at_s)
    run.offsets("in", 0, 0, WARM + LOAD)
    run.offsets("out", 0, 0, WARM + LOAD - 1)
    found = look(run)
    (trace,) = found.traces
    assert (trace.sent, trace.recognised, trace.missing) == (300, 299, 1)
    assert count(found, "trace_latency") == LOAD - 1
    assert measured(found, "trace_latency.max(of=received)") == [pytest.approx(0.1, rel=0.01)]
    (gone,) = [row for row in found.missing if row.kind == "trace_latency"]
    assert gone.histogram.count == 1


def test_a_result_that_the_warm_up_lacks_is_missing_and_in_no_latency(look: Analyse) -> None:
    run = warmed_up(trace=[{"from": "in", "to": "out", "by": "value"}])
    fill(run)
    for seq in range(1, WARM + LOAD):
        run.receive(None, topic="out", offset=seq - 1, group="k", consumer="end", value=seq, at_s=due_s(seq) + 0.1)
    run.offsets("out", 0, 0, WARM + LOAD - 1)
    found = look(run)
    assert measured(found, "results_missing") == [1]
    assert sum(row.histogram.count for row in found.missing) == 0
    assert measured(found, "trace_latency.max") == [pytest.approx(0.1, rel=0.01)]


def test_a_fault_is_measured_against_the_load_alone(look: Analyse) -> None:
    run = warmed_up()
    fill(run, lost=(17,), received_s={99: 4.0})
    run.event("fault-applied", 5.0, fault="cut", do="down", on=["h1 -- s1"])
    run.event("fault-healed", 6.0, fault="cut", do="down", on=["h1 -- s1"])
    found = look(run)
    assert {point.at_s >= 0 for point in found.debts} <= {True}
    assert max((point.messages for point in found.debts), default=0) <= 2
    assert measured(found, "lost", "lost(fault=cut)", "recovery(fault=cut)") == [1, 0, 0]


def test_batches_samples_and_peaks_of_the_warm_up_are_left_out(look: Analyse) -> None:
    run = warmed_up(engines=[{"name": "job", "on": "h2", "app": "job.py"}])
    fill(run)
    run.event("query-started", -12.0, component="job", query="q")
    for at_s, batch_ms in ((-3.0, 20_000.0), (1.0, 4_000.0), (2.0, 500.0), (3.0, 700.0)):
        run.sample(at_s, "spark", "job.q", "batch_ms", batch_ms)
        run.sample(at_s, "spark", "job.q", "rows_a_second", 1000.0 if batch_ms > 1000 else 10.0)
    for at_s, score in ((-12.0, 1.0), (-3.0, 99.0), (2.0, 5.0)):
        run.sample(at_s, "program", "see", "score", score)
    for at_s, peak in ((-3.0, 9000.0), (2.0, 9000.0)):
        run.sample(at_s, "fabric", "h1 -- s1 forward", "queue_bytes_max", peak)
        run.sample(at_s, "fabric", "h1 -- s1 forward", "queue_bytes", 10.0)
        run.sample(at_s, "fabric", "h1 -- s1 forward", "delivered_bytes", 10.0)
    found = look(run)
    events = [{"event": "query-started", "component": "job", "query": "q"}]
    assert measured(found, "batch_time.max", "engine_rows.max", events=events) == [pytest.approx(0.7), 10.0]
    assert measured(found, "sample.max(metric=score)") == [5.0]
    assert measured(found, "queue.max") == [10.0]
    assert measured(found, "startup", "startup(phase=warmup)") == [pytest.approx(2.0), pytest.approx(9.0)]


def test_the_first_receipt_counts_from_the_command_and_may_be_one_of_the_warm_up(look: Analyse) -> None:
    run = warmed_up()
    fill(run)
    run.receive(0, at_s=1.5, topic="out", group="k", consumer="end")
    found = look(run)
    assert measured(found, "first_receipt", "first_receipt(topic=out)") == [pytest.approx(7.02), pytest.approx(18.5)]


def test_the_outcome_and_the_report_tell_both_numbers(look: Analyse, tmp_path: Path) -> None:
    run = warmed_up()
    fill(run)
    found = look(run)
    told = str(count_totals(tmp_path / "run"))
    assert told.startswith("300 sent (100 of them in the warm-up), 300 acknowledged, 300 received")
    page = write_report(tmp_path / "run", found).read_text("utf-8")
    assert "after a warm-up of" in page
    assert "100 in the warm-up" in page


def test_a_run_without_a_warm_up_says_nothing_of_it(look: Analyse, tmp_path: Path) -> None:
    run = FakeRun(topics=[{"name": "in"}], producers=[{"name": "gen", "on": "h1", "topic": "in"}])
    run.send(0)
    look(run)
    assert "warm" not in str(count_totals(tmp_path / "run"))
