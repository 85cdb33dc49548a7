"""What a report says of programs of the user's: their latencies count from send, and names stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stream2gym.analysis.result_tables import Analysis, LatencyRow
from stream2gym.figures.figure import Chart
from stream2gym.judge.judge import judge
from stream2gym.report.facts import read_facts
from stream2gym.report.sections.latency import make_latency_section
from stream2gym.report.write import write_report
from tests.unit.report.page import Page
from tests.unit.report.synthetic import lognormal, rich_analysis, write_run

OWN = Analysis(
    "r", 10.0, 1.0,
    latency=(LatencyRow("ack_latency_sent", "orders", 0, "shop", histogram=lognormal(1, 0.03, 0.6)),),
)  # fmt: skip


def percentile_charts(run: Path) -> list[Chart]:
    exhibits = make_latency_section(read_facts(run)).exhibits
    return [one for one in exhibits if isinstance(one, Chart) and one.name == "latency-percentiles"]


def test_where_no_message_had_a_due_time_nothing_speaks_of_one_and_no_chart_is_empty(tmp_path: Path) -> None:
    run = write_run(tmp_path, "own", hosts=2, analysis=OWN, events=[])
    text = str(make_latency_section(read_facts(run)).parts)

    assert "latency counts from the moment when a message was sent" in text
    assert "was due" not in text
    [chart] = percentile_charts(run)
    assert [series.name for series in chart.series] == ["to acknowledgement, from send"]


def test_the_way_to_the_acknowledgement_is_drawn_once_where_messages_have_due_times(tmp_path: Path) -> None:
    rich = rich_analysis()
    run = write_run(
        tmp_path, "both", hosts=2, analysis=replace(rich, latency=(*rich.latency, *OWN.latency)), events=[]
    )

    [chart] = percentile_charts(run)
    assert [series.name for series in chart.series if "acknowledgement" in series.name] == ["to acknowledgement"]


def test_a_sentence_that_begins_with_the_name_of_a_component_keeps_it(tmp_path: Path) -> None:
    verdict = replace(judge([], OWN, []), remarks=("producer-h2 is not observed", "nobody reads orders"))
    run = write_run(tmp_path, "own", hosts=2, analysis=OWN, events=[], verdict=verdict)
    page = Page(write_report(run).read_text("utf-8")).text

    assert "producer-h2 is not observed." in page
    assert "Nobody reads orders." in page
