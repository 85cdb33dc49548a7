"""The report tells its finding first, has a section for Spark, names brokers, and compares with the previous run."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.analysis.result_tables import Analysis, SentRow, SeriesPoint
from stream2gym.execution.event_words import shown_event
from stream2gym.figures.figure import Chart, Table
from stream2gym.report.facts import read_facts
from stream2gym.report.previous_run import find_previous_run
from stream2gym.report.sections.comparison import make_comparison_section
from stream2gym.report.sections.kafka_streams import make_kafka_streams_section
from stream2gym.report.sections.key_numbers import make_key_numbers_section
from stream2gym.report.sections.leadership import make_leadership_section
from stream2gym.report.sections.other_measurements import make_other_measurements_section
from stream2gym.report.sections.spark import find_laggards, make_spark_section
from stream2gym.report.sections.timeline import make_timeline_section
from stream2gym.report.write import make_sections, write_report
from tests.unit.report.page import Page
from tests.unit.report.synthetic import (
    T0_NS,
    rich_analysis,
    rich_events,
    rich_run,
    rich_verdict,
    tiny_run,
    write_run,
)

T0_WALL_S = 1_794_830_410.0  # t0_wall of the synthetic runs


def spark_points(
    query: str = "job.sums", *, processed: float = 900.0, watermark_s: float = T0_WALL_S
) -> list[SeriesPoint]:
    found = []
    for batch in range(10):
        numbers = {
            "batch_id": batch, "rows": 500, "rows_a_second": 500, "processed_a_second": processed,
            "batch_ms": 700 + batch, "batch_ms.addBatch": 400, "state_rows": 10 * batch, "state_bytes": 4096,
            "late_rows": 1 if batch == 3 else 0, "watermark_s": watermark_s + batch - 10,
        }  # fmt: skip
        found += [
            SeriesPoint(f"spark {query}", metric, float(batch), float(value)) for metric, value in numbers.items()
        ]
    return found


def spark_run(base: Path, *points: SeriesPoint) -> Path:
    analysis = rich_analysis()
    analysis = replace(analysis, gauges=(*analysis.gauges, *points))
    return write_run(base, "rides", hosts=6, analysis=analysis, events=rich_events(), verdict=rich_verdict())


def test_the_findings_stand_below_the_verdict_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    path = write_report(rich_run(tmp_path))
    text = path.read_text("utf-8")
    page = Page(text)
    assert text.index('class="verdict') < text.index('class="loss"') < text.index('class="findings"')
    inside = re.search(r'<div class="findings".*?</div>', text, re.DOTALL)
    assert inside is not None
    links = re.findall(r'href="#([^"]+)"', inside[0])
    assert links
    assert set(links) <= set(page.ids)
    plain = re.sub(r"<a [^>]*>.*?</a>", "", inside[0])
    assert "lost == 0 does not hold" in re.sub(r"<[^>]+>", "", inside[0]).replace("&gt;", ">")
    assert not re.search(r">[^<]*\b\d+ of \d", plain)


def test_a_finding_whose_evidence_is_not_on_the_page_stays_text(tmp_path: Path) -> None:
    run = write_run(tmp_path, "rides", hosts=2, analysis=None, events=[], verdict=rich_verdict())
    page = Page(write_report(run).read_text("utf-8"))
    for link in page.links:
        assert link.startswith("data:") or link.removeprefix("#") in page.ids


def test_spark_has_a_section_of_rates_batch_times_state_and_watermark(tmp_path: Path) -> None:
    facts = read_facts(spark_run(tmp_path, *spark_points()))
    section = make_spark_section(facts)
    assert section is not None
    charts = {one.name: one for one in section.exhibits if isinstance(one, Chart)}
    assert list(charts) == ["spark-rates", "spark-batches", "spark-state", "spark-watermark"]
    assert [series.name for series in charts["spark-rates"].series] == ["job.sums: in", "job.sums: processed"]
    assert charts["spark-batches"].series[0].y[0] == pytest.approx(0.7)
    assert charts["spark-watermark"].title == "Watermark behind the clock"
    assert charts["spark-watermark"].series[0].y[0] == pytest.approx(10.0)
    table = next(one for one in section.exhibits if isinstance(one, Table))
    row = dict(zip((column.label for column in table.columns), table.rows[0], strict=True))
    assert row["batches"] == 10
    assert row["rows"] == 5000
    assert row["late rows dropped"] == 1
    others = make_other_measurements_section(facts)
    assert others is not None
    assert not any("batch" in exhibit.name for exhibit in others.exhibits)


def test_a_watermark_of_recorded_data_is_drawn_as_the_event_time_that_it_passed(tmp_path: Path) -> None:
    section = make_spark_section(read_facts(spark_run(tmp_path, *spark_points(watermark_s=1.4e9))))
    assert section is not None
    chart = next(one for one in section.exhibits if one.name == "spark-watermark")
    assert isinstance(chart, Chart)
    assert chart.series[0].y[-1] == pytest.approx(9.0)


def test_kafka_streams_has_a_section_of_rows_and_of_the_partitions_that_instances_held(tmp_path: Path) -> None:
    numbers = {"rows": 50, "rows_a_second": 100, "partitions": 2, "lag": 7, "commits": 1, "commit_ms": 20}
    points = [
        SeriesPoint(f"kafka-streams {name}.words", metric, float(at), float(value))
        for name in ("one", "two")
        for at in range(10)
        for metric, value in numbers.items()
    ]
    facts = read_facts(spark_run(tmp_path, *points))
    section = make_kafka_streams_section(facts)
    assert section is not None
    charts = {one.name: one for one in section.exhibits if isinstance(one, Chart)}
    assert list(charts) == ["streams-rows", "streams-partitions", "streams-lag"]
    assert [series.name for series in charts["streams-partitions"].series] == ["one.words", "two.words"]
    table = next(one for one in section.exhibits if isinstance(one, Table))
    row = dict(zip((column.label for column in table.columns), table.rows[0], strict=True))
    assert (row["instance"], row["rows"], row["commits"]) == ("one.words", 500, 10)
    assert row["time of a commit, mean"] == pytest.approx(0.02)
    others = make_other_measurements_section(facts)
    assert others is None or not any("partitions" in exhibit.name for exhibit in others.exhibits)
    assert make_kafka_streams_section(read_facts(rich_run(tmp_path / "without"))) is None


def test_a_run_without_spark_has_no_section_about_it(tmp_path: Path) -> None:
    assert make_spark_section(read_facts(rich_run(tmp_path))) is None


def test_a_query_that_processes_more_slowly_than_rows_come_is_named() -> None:
    slow = [replace(point, object=point.object.removeprefix("spark ")) for point in spark_points(processed=400.0)]
    assert find_laggards(slow) == ["job.sums"]
    quick = [replace(point, object=point.object.removeprefix("spark ")) for point in spark_points()]
    assert find_laggards(quick) == []


def test_brokers_are_named_and_not_numbered(tmp_path: Path) -> None:
    facts = read_facts(rich_run(tmp_path))
    changes = next(one for one in make_leadership_section(facts).exhibits if one.name == "changes")
    assert isinstance(changes, Table)
    assert ("leader", "in/1", "broker-h2", "broker-h3") in [row[1:] for row in changes.rows]
    assert ("in-sync set", "in/1", "3 replicas", "2 replicas") in [row[1:] for row in changes.rows]
    events = next(one for one in make_timeline_section(facts).exhibits if one.name == "events")
    assert isinstance(events, Table)
    assert any("leader broker-h3, before broker-h2" in str(row[2]) for row in events.rows)
    event = {"event": "leader", "topic": "in", "partition": 1, "leader": 3, "before": 2}
    assert shown_event(event, facts.node_names) == "partition 1 of in: leader broker-h2 -> broker-h3"
    assert shown_event(event) == "partition 1 of in: leader 2 -> 3"


def earlier_run(run: Path, name: str, created: str, **changes: object) -> Path:
    other = run.parent / name
    shutil.copytree(run, other)
    info = json.loads((other / "run.json").read_text("utf-8"))
    (other / "run.json").write_text(json.dumps({**info, "created": created, **changes}), "utf-8")
    return other


def test_the_previous_run_of_the_same_experiment_is_compared(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    (run / "experiment.yaml").write_text("name: hello\n", "utf-8")
    assert find_previous_run(run) is None
    earlier_run(run, "hello-oldest", "2026-11-14T12:00:00+00:00")
    before = earlier_run(run, "hello-before", "2026-11-15T12:00:00+00:00")
    earlier_run(run, "hello-later", "2026-11-17T12:00:00+00:00")
    other = earlier_run(run, "hello-other", "2026-11-16T11:00:00+00:00")
    (other / "experiment.yaml").write_text("name: hello\ntime: 3 s\n", "utf-8")
    halved = Analysis.from_json(json.loads((before / "analysis.json").read_text("utf-8")))
    halved = replace(halved, sent=(SentRow("hello", 0, "producer-h2", 10, 5, 0, 5, 0, 100, 50),))
    (before / "analysis.json").write_text(json.dumps(halved.to_json()), "utf-8")

    facts = read_facts(run)
    assert facts.previous is not None
    assert facts.previous.name == "hello-before"
    section = make_comparison_section(facts)
    assert section is not None
    table = next(one for one in section.exhibits if isinstance(one, Table))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["acknowledged"] == ("5", "10", "+100.0%", "better")
    assert rows["failed"] == ("5", "0", "−100.0%", "better")
    assert "hello-before" in Page(write_report(run).read_text("utf-8")).text


def test_a_run_that_did_not_end_well_is_not_compared_with(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    (run / "experiment.yaml").write_text("name: hello\n", "utf-8")
    earlier_run(run, "hello-before", "2026-11-15T12:00:00+00:00", state="interrupted")
    assert find_previous_run(run) is None
    broken = earlier_run(run, "hello-broken", "2026-11-15T13:00:00+00:00")
    (broken / "analysis.json").write_text("{", "utf-8")
    assert find_previous_run(run) is None
    assert "comparison" not in [section.ident for section in make_sections(read_facts(run))]
    earlier_run(run, "hello-sound", "2026-11-14T12:00:00+00:00")
    found = find_previous_run(run)
    assert found is not None
    assert found.name == "hello-sound"


def test_jobs_by_hand_stand_in_the_findings_the_time_line_and_the_picture(tmp_path: Path) -> None:
    events = [
        *rich_events(),
        {"event": "job-moved", "at_ns": T0_NS + 8 * 10**9, "component": "consumer-h6", "host": "h6", "to": "h5"},
        {"event": "job-stopped", "at_ns": T0_NS + 20 * 10**9, "component": "producer-h4", "host": "h4"},
    ]
    run = write_run(tmp_path, "rides", hosts=6, analysis=rich_analysis(), events=events, verdict=rich_verdict())
    table = next(
        one
        for one in make_timeline_section(read_facts(run)).exhibits
        if isinstance(one, Table) and one.name == "jobs"
    )
    assert table.rows == ((8.0, "consumer-h6", "moved", "h6", "h5"), (20.0, "producer-h4", "stopped", "h4", None))
    text = write_report(run).read_text("utf-8")
    page = Page(text)
    assert "table-jobs" in page.ids
    assert "#table-jobs" in page.links
    assert "consumer-h6 was moved from h6 to h5" in re.sub(r"<[^>]+>", "", text)


def test_an_engine_with_numbers_of_its_own_is_no_query(tmp_path: Path) -> None:
    own = SeriesPoint("spark job", "queries", 1.0, 1.0)
    section = make_spark_section(read_facts(spark_run(tmp_path, own, *spark_points())))
    assert section is not None
    table = next(one for one in section.exhibits if isinstance(one, Table))
    assert [row[0] for row in table.rows] == ["job.sums"]


def test_what_nobody_observed_reads_is_not_said_to_be_lost_by_nobody(tmp_path: Path) -> None:
    analysis = rich_analysis()
    unread = replace(analysis, audit=tuple(replace(row, group="", received=0, lost=0) for row in analysis.audit[:1]))
    shown = {}
    for number, one in enumerate((analysis, unread)):
        base = tmp_path / str(number)
        base.mkdir()
        run = write_run(base, "rides", hosts=6, analysis=one, events=rich_events(), verdict=rich_verdict())
        text = str(make_key_numbers_section(read_facts(run)).parts)
        shown[number] = ("nobody whose messages are recorded" in text, ">lost<" in text)
    assert shown == {0: (False, True), 1: (True, False)}
