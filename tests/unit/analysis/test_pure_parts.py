"""The parts of the analysis that need no Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.analysis.fake_run import FakeRun, rehearsal
from stream2gym.analysis.histogram import Histogram, HistogramBuilder, merge_histograms
from stream2gym.analysis.inputs import Inputs, read_inputs
from stream2gym.analysis.message_totals import count_totals
from stream2gym.analysis.positions import read_recorded_positions
from stream2gym.analysis.result_tables import PhaseRow
from stream2gym.analysis.run_history import find_phases
from stream2gym.analysis.sample_statistics import make_sampled_table
from stream2gym.analysis.sampled_tables import (
    make_gauges,
    make_leadership_tables,
    make_link_tables,
    make_resource_tables,
)
from stream2gym.analysis.sql import literal
from stream2gym.analysis.time_series import Track, Tracks, read_tracks, steps


def opened(run: FakeRun, path: Path) -> tuple[Inputs, Tracks]:
    inputs = read_inputs(run.write(path / "run"))
    return inputs, read_tracks(inputs)


def track(*points: tuple[float, float]) -> Track:
    found = Track()
    for at_s, value in points:
        found.at_s.append(at_s)
        found.values.append(value)
    return found


# ---- histograms


def test_percentiles_are_values_that_were_seen() -> None:
    histogram = Histogram(((10, 50), (20, 49), (1000, 1)), 2480.0, 1, 1000)

    assert histogram.value("p50") == pytest.approx(10e-9)
    assert histogram.value("p99") == pytest.approx(20e-9)
    assert histogram.value("p99.99") == pytest.approx(1000e-9)
    assert histogram.value("mean") == pytest.approx(24.8e-9)
    assert (histogram.value("min"), histogram.value("max")) == (pytest.approx(1e-9), pytest.approx(1e-6))


def test_no_values_have_no_percentile() -> None:
    assert Histogram().value("p99") is None


def test_histograms_merge_to_one_of_all_values() -> None:
    left, right = HistogramBuilder(), HistogramBuilder()
    left.add(1, 3, 30.0, 9, 11)
    right.add(1, 1, 8.0, 8, 8)
    right.add(5, 6, 600.0, 90, 110)

    both = merge_histograms([left.build(), right.build(), Histogram()])

    assert (both.count, both.min_ns, both.max_ns) == (10, 8, 110)
    assert both.value("p50") == pytest.approx(110e-9)


# ---- samples


def test_a_counter_grows_evenly_within_a_monitors_pace_only() -> None:
    counter = track((0.0, 0.0), (10.0, 100.0))  # nothing was written down between: it stood still until 9.5

    assert counter.counter(9.0) == 0.0
    assert counter.counter(9.75) == pytest.approx(50.0)
    assert counter.growth(9.0, 10.0) == pytest.approx(100.0)
    assert counter.counter(-1.0) == 0.0
    assert counter.counter(99.0) == 100.0


def test_a_gauge_stands_until_it_changes() -> None:
    gauge = track((1.0, 5.0), (2.0, 7.0))

    assert (gauge.last(0.5), gauge.last(1.5), gauge.last(9.0)) == (None, 5.0, 7.0)


def test_time_steps_cover_the_load(tmp_path: Path) -> None:
    inputs, _ = opened(FakeRun(2.5), tmp_path)

    assert steps(inputs) == [(0.0, 1.0), (1.0, 2.0), (2.0, 2.5)]


# ---- links, resources, leaders, phases


def test_links_carry_what_their_counters_say(tmp_path: Path) -> None:
    run = FakeRun(2.0)
    for tick in range(-2, 5):
        at_s, sent = tick / 2, max(tick, 0)
        run.sample(at_s, "fabric", "h1 -- s1 forward", "delivered_bytes", 1000 + sent * 125_000)
        run.sample(at_s, "fabric", "h1 -- s1 forward", "entered_packets", sent * 110)
        run.sample(at_s, "fabric", "h1 -- s1 forward", "delivered_packets", sent * 100)
        run.sample(at_s, "fabric", "h1 -- s1 forward", "dropped.loss", sent * 10)
        run.sample(at_s, "fabric", "h1 -- s1 forward", "queue_bytes", sent)

    rows, series = make_link_tables(*opened(run, tmp_path))

    (row,) = rows
    assert (row.link, row.direction, row.source, row.target, row.target_port) == (
        "h1 -- s1",
        "forward",
        "h1",
        "s1",
        1,
    )
    assert (row.bytes, row.packets, row.entered_packets, row.dropped) == (500_000, 400, 440, {"loss": 40})
    assert row.mean_bps == pytest.approx(2e6)
    assert row.queue_max_bytes == 4
    assert [point.value for point in series if point.metric == "bps"] == [pytest.approx(2e6)] * 2


def test_bytes_of_a_link_count_to_the_end_of_the_drain(tmp_path: Path) -> None:
    run = FakeRun(2.0)
    for tick in range(-2, 9):
        run.sample(tick / 2, "fabric", "h1 -- s1 forward", "delivered_bytes", 1000 * (tick + 2))

    inputs, tracks = opened(run, tmp_path)
    (row,) = make_link_tables(inputs, tracks)[0]

    assert inputs.drain_end_s > inputs.load_s
    assert row.bytes == 4000
    assert row.all_bytes == 2000 * min(inputs.drain_end_s, 4.0)


def test_a_component_uses_a_share_of_the_machine(tmp_path: Path) -> None:
    run = FakeRun(2.0, producers=[{"name": "gen", "on": "h1", "topic": "in"}], topics=["in"])
    for tick in range(-2, 5):
        run.sample(tick / 2, "process", "gen", "cpu_s", 5 + tick / 4)
        run.sample(tick / 2, "process", "gen", "rss_bytes", 1000 if tick < 2 else 3000)
    inputs, tracks = opened(run, tmp_path)
    inputs.folder.update(machine={"cpus": 2})

    (row,), series = make_resource_tables(inputs, tracks)

    assert (row.component, row.host, row.memory_max_bytes) == ("gen", "h1", 3000)
    assert row.cpu_mean == pytest.approx(0.25)
    assert {point.metric for point in series} == {"cpu", "memory_bytes"}


def test_a_number_of_a_monitor_can_be_judged_unless_another_table_holds_it(tmp_path: Path) -> None:
    run = FakeRun(2.0)
    run.sample(1.0, "machine", "memory", "memory_free_bytes", 7)
    run.sample(1.0, "machine", "cpu", "pressure_s", 3)
    run.sample(1.0, "process", "gen", "rss_bytes", 1000)

    (gauge,) = make_gauges(*opened(run, tmp_path))

    assert (gauge.object, gauge.metric, gauge.value) == ("machine memory", "memory_free_bytes", 7)


def test_the_cluster_can_be_judged_and_what_is_too_much_to_keep_is_kept_as_statistics(tmp_path: Path) -> None:
    run = FakeRun(2.0)
    for at_s, value in ((0.5, 4), (1.0, 9), (1.5, 2)):
        run.sample(at_s, "host", "h1", "threads", value)
        run.sample(at_s, "kafka", "in/0", "end_offset", value)
    run.sample(1.0, "kafka", "cluster", "under_replicated", 2)
    run.sample(1.0, "kafka", "in/0", "isr", 3)
    inputs, tracks = opened(run, tmp_path)

    (gauge,) = make_gauges(inputs, tracks)
    assert (gauge.object, gauge.metric, gauge.value) == ("kafka cluster", "under_replicated", 2)
    threads, ends = make_sampled_table(tracks)
    assert (threads.source, threads.object, threads.metric, threads.count) == ("host", "h1", "threads", 3)
    assert (threads.stats["max"], threads.stats["last"], threads.stats["mean"]) == (9, 2, 5)
    assert (ends.object, ends.metric) == ("in/0", "end_offset")


def test_statistics_leave_out_what_was_sampled_in_the_warm_up(tmp_path: Path) -> None:
    run = FakeRun(2.0)
    for at_s, value in ((-4.0, 1), (-1.0, 99), (0.5, 4)):
        run.sample(at_s, "host", "h1", "threads", value)
    _, tracks = opened(run, tmp_path)

    (threads,) = make_sampled_table(tracks, [PhaseRow("warmup", -2.0, 0.0), PhaseRow("load", 0.0, 2.0)])

    assert (threads.count, threads.stats["max"]) == (2, 4)


def test_leaders_have_spans_and_changes(tmp_path: Path) -> None:
    run = FakeRun(10.0)
    for at_s, leader, in_sync in ((-1.0, 1, 3), (4.0, 2, 2), (6.0, 2, 3)):
        run.sample(at_s, "kafka", "in/0", "leader", leader)
        run.sample(at_s, "kafka", "in/0", "isr", in_sync)

    spans, changes = make_leadership_tables(*opened(run, tmp_path))

    assert [(span.leader, span.from_s, span.to_s) for span in spans] == [(1, -1.0, 4.0), (2, 4.0, 11.0)]
    assert [(change.what, change.at_s) for change in changes] == [("isr", 4.0), ("leader", 4.0)]


def test_a_partition_that_nobody_leads_for_a_while_changes_its_leader_once(tmp_path: Path) -> None:
    run = FakeRun(10.0)
    for at_s, leader in ((-1.0, 1), (4.0, -1), (5.0, 2)):
        run.sample(at_s, "kafka", "in/0", "leader", leader)

    spans, changes = make_leadership_tables(*opened(run, tmp_path))

    assert [(span.leader, span.from_s) for span in spans] == [(1, -1.0), (-1, 4.0), (2, 5.0)]
    assert [(change.at_s, change.after) for change in changes] == [(5.0, 2)]


def test_a_phase_ends_when_the_next_begins(tmp_path: Path) -> None:
    inputs, _ = opened(FakeRun(10.0), tmp_path)

    phases = {row.name: row.seconds for row in find_phases(inputs.events)}

    assert phases == {"network": 0.5, "brokers": 1.5, "load": 10.0, "drain": 1.0, "stop": None}
    assert inputs.load_s == 10.0


# ---- inputs


def test_groups_topics_and_positions_come_from_the_experiment_and_the_samples(tmp_path: Path) -> None:
    run = FakeRun(
        topics=["a1", "a2", "b"],
        consumers=[
            {"name": "one", "on": "h1", "pattern": "^a.*", "group": "g", "from": "latest"},
            {"name": "two", "on": "h2", "topics": ["b"], "instances": 2},
        ],
    )
    run.sample(-1.0, "client", "one", "first a1/0", 7)
    run.sample(1.0, "client", "one", "first a1/0", 9)
    run.sample(2.0, "client", "two.2", "position b/0", 5)
    inputs, _ = opened(run, tmp_path)

    subscriptions = {(sub.topic, sub.group): sub.latest for sub in inputs.subscriptions()}

    assert subscriptions[("a1", "g")] is True
    assert subscriptions[("a2", "g")] is True
    assert len([group for topic, group in subscriptions if topic == "b"]) == 2
    recorded = read_recorded_positions(inputs)
    assert {place: offset for place, (_, offset) in recorded.first.items()} == {("a1", 0, "g"): 7}
    assert {place: offset for place, (_, offset) in recorded.last.items()} == {("b", 0, inputs.groups()["two"][1]): 5}


def test_the_totals_need_no_spark(tmp_path: Path) -> None:
    counts = count_totals(rehearsal().write(tmp_path / "run"))

    assert (counts.sent, counts.acknowledged, counts.received) == (1000, 1000, 3000)
    assert str(counts) == (
        "1,000 sent, 1,000 acknowledged, 3,000 received; "
        "Kafka's topics have 2,000 offsets: others wrote too, or transactions left marks"
    )


def test_texts_cannot_break_out_of_sql() -> None:
    assert literal("it's") == r"'it\'s'"
    assert literal("a\\") == r"'a\\'"
    assert (literal(True), literal(5)) == ("true", "5L")
