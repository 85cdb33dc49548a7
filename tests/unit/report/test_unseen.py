"""What a report says of messages that did not arrive: nothing that looks like good news."""

from __future__ import annotations

from pathlib import Path

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    ClientRow,
    Fidelity,
    MissingRow,
    PositionRow,
    SentRow,
)
from stream2gym.figures.figure import Table
from stream2gym.judge.judge import judge
from stream2gym.report.facts import read_facts
from stream2gym.report.sections.delivery import make_delivery_section
from stream2gym.report.sections.latency import make_latency_section
from stream2gym.report.write import write_report
from tests.unit.report.page import Page
from tests.unit.report.synthetic import write_run

ISOLATED = Analysis(
    "r", 10.0, 1.0,
    clients=(ClientRow("producer", "gen", "in"), ClientRow("consumer", "see", "in", "g")),
    held={"in": 1000},
    sent=(SentRow("in", 0, "gen", 1000, 1000),),
    audit=(AuditRow("in", 0, "gen", "g", 1000, in_flight=1000),),
    positions=(PositionRow("in", 0, "g", 0, 1000, 0, 0), PositionRow("in", 1, "g", position=5)),
    missing=(MissingRow("latency", "in", 0, "gen", "g", histogram=Histogram(((9, 1000),), 9000.0, 9, 9)),),
    fidelity=Fidelity(True, "in time", suspect=()),
)  # fmt: skip


def test_the_banner_says_without_any_expectation_what_was_not_received(tmp_path: Path) -> None:
    run = write_run(tmp_path, "alone", hosts=2, analysis=ISOLATED, events=[], verdict=judge([], ISOLATED, []))
    page = Page(write_report(run).read_text("utf-8")).text

    assert "Nothing was expected, nothing died." in page
    assert "1,000 acknowledged messages were not received by g when the drain ended." in page


def test_a_group_that_read_nothing_is_a_thousand_behind_and_one_without_offsets_nobody_knows_how_far(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path, "alone", hosts=2, analysis=ISOLATED, events=[])
    (positions,) = (table for table in make_delivery_section(read_facts(run)).exhibits if table.name == "positions")
    assert isinstance(positions, Table)

    behind = [column.label for column in positions.columns].index("lag")
    assert [row[behind] for row in positions.rows] == [1000.0, None]


def test_messages_that_never_arrived_stand_beside_the_latencies(tmp_path: Path) -> None:
    run = write_run(tmp_path, "alone", hosts=2, analysis=ISOLATED, events=[])
    text = str(make_latency_section(read_facts(run)).parts)

    assert "1,000 messages never arrived" in text
