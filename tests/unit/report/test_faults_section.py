"""What a report says of faults: figures, lower bounds in words, and dashes where there is no figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stream2gym.analysis.result_tables import Analysis, BacklogRow, DebtPoint, FaultRow, OutageRow, RecoveryRow
from stream2gym.figures.figure import Chart, Table
from stream2gym.report.blocks import table_block
from stream2gym.report.facts import read_facts
from stream2gym.report.sections.faults import make_faults_section
from tests.unit.report.synthetic import rich_analysis, rich_run


def broker_dead_for_good() -> Analysis:
    dead = FaultRow("dead", 1, "kill", ("broker-h2",), 32.0, None, 62.0, last=True)
    cost = RecoveryRow(
        "dead", 1, "in", before_per_s=1000.0, lowest_per_s=0.0, recovery_s=30.0, recovery_open=True, backlog=3989,
        drain_s=30.0, drain_open=True, latency_before_s=0.02, latency_during_s=30.0, latency_during_open=True,
    )  # fmt: skip
    silence = OutageRow("dead", 1, "acknowledged", "in", "gen", "", 28.0, 28.0, True, True)
    debts = tuple(
        DebtPoint(side, "in", group, float(at), at * 10)  # type: ignore[arg-type]
        for side, group in (("acknowledged", ""), ("received", "g"))
        for at in range(60)
    )
    return replace(
        rich_analysis(),
        faults=(dead,),
        recovery=(cost,),
        backlogs=(BacklogRow("dead", 1, "in", "g", 3989, 30.0, True),),
        outages=(silence,),
        debts=debts,
    )


def test_what_was_not_over_is_told_as_at_least_and_what_does_not_exist_as_a_dash(tmp_path: Path) -> None:
    section = make_faults_section(read_facts(rich_run(tmp_path), broker_dead_for_good()))
    assert section is not None
    tables = {part.name: part for part in section.parts if isinstance(part, Table)}

    cells = dict(zip([c.label for c in tables["faults-cost"].columns], tables["faults-cost"].rows[0], strict=True))
    assert cells["recovered after"] == cells["worked off in"] == cells["during"] == "at least 30 s"
    assert (cells["backlog"], cells["after"]) == (3989, None)
    assert tables["faults-silence"].rows[0][-2:] == ("at least 28 s", "at least 28 s")
    page = table_block(tables["faults-table"]).source
    assert "No figure: next leader after." in page
    assert "next leader after" not in page.split("Zero everywhere")[1].split(".")[0]


def test_what_is_owed_is_drawn_over_time(tmp_path: Path) -> None:
    section = make_faults_section(read_facts(rich_run(tmp_path), broker_dead_for_good()))
    assert section is not None

    [chart] = [part for part in section.parts if isinstance(part, Chart)]

    assert [series.name for series in chart.series] == ["in: acknowledgements", "in: to g"]
    assert chart.series[0].y[:3] == (0.0, 10.0, 20.0)
