"""The table that holds engines against each other: medians between bounds, the runs behind them, what is missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stream2gym.cli.conformance import ORDER, add_others, choose
from stream2gym.errors import BadInput
from stream2gym.sweep_group import GroupResult
from stream2gym.sweeps.check_points import check_points
from stream2gym.sweeps.engine_figures import list_told_axes, make_engine_charts
from stream2gym.sweeps.engine_table import (
    NOT_MEASURABLE,
    NOT_OFFERED,
    list_engines,
    make_cell,
    make_engine_page,
    make_overview,
    make_table,
)
from stream2gym.sweeps.load_sweep import check_sweep, load_sweep
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.results_page import Readme, ResultEntry, read_page
from stream2gym.sweeps.sweep_file import Response, SweepFile
from stream2gym.sweeps.sweep_plan import make_sweep_plan

P50 = Response(name="latency p50", metric="trace_latency.p50(from=in, to=out)")
RATE = Response(name="throughput", metric="delivery_rate.mean(topic=out)")
ALL = {"Spark micro-batches", "Spark Real-Time Mode", "Flink", "Kafka Streams"}
WITH_STATE = ALL - {"Spark Real-Time Mode"}
OFFERED = {
    "keeps-moving": ALL,
    "imperfect": WITH_STATE,
    "predictable": WITH_STATE,
    "stored-and-streaming": WITH_STATE,
    "safety": ALL,
    "scale": ALL,
    "respond": ALL,
}


def row(engine: str, value: float | None, run: str = "p1r1", *, rate: str = "100/s", **keys: Any) -> ResponseRow:
    known: dict[str, Any] = {
        "point": 1, "repeat": 1, "seed": 1, "axes": {"engine": engine, "program": f"{{{engine}}}", "rate": rate},
        "response": P50.label, "item": "", "value": value, "low": value, "high": value, "state": "measured",
        "verdict": "pass", "reason": "", "run": run,
    }  # fmt: skip
    return ResponseRow(**{**known, **keys})


def make_file(**keys: Any) -> SweepFile:
    data: dict[str, Any] = {
        "sweep": 1,
        "experiment": "hello",
        "axes": {
            "engine": {"set": [], "values": ["A", "B"]},
            "program": {"set": "engines.job", "values": ["{A}", "{B}"]},
            "rate": {"set": "producers.gen.rate", "values": ["100/s", "5000/s"]},
        },
        "zip": ["engine", "program"],
        "responses": [P50.model_dump()],
    }
    return check_sweep({**data, **keys}, Path()).file


class Result:
    """What the page reads of a sweep."""

    def __init__(self, file: SweepFile, rows: list[ResponseRow]) -> None:
        self.file = file
        self.rows = rows
        self.state = "done"
        self.folder = type("Folder", (), {"path": Path("sweeps/all/keeps-moving")})()
        self.judged = type("Judged", (), {"counts": {"pass": len(rows)}, "left_out": {}})()


def entry_of(file: SweepFile, rows: list[ResponseRow]) -> ResultEntry:
    result: Any = Result(file, rows)
    readme = Readme("keeps-moving", "See [more](more.md).")
    info = {"created": "2026-11-17T20:00:00", "machine": {"cpus": 2, "memory_bytes": 24e9}, "quick": True}
    return ResultEntry(
        "keeps-moving", readme, result, info, {"flink": "2.3.0"}, folder="../examples/engines-compared/keeps-moving"
    )


def test_a_cell_has_the_median_between_the_bounds_of_all_runs_and_names_them() -> None:
    rows = [row("A", 0.010, "p1r1", low=0.009), row("A", 0.020, "p1r2"), row("A", 0.030, "p1r3", high=0.035)]
    assert make_cell(rows, P50) == "20 ms (9 ms to 35 ms)<br>p1r1, p1r2, p1r3"


def test_one_exact_value_needs_no_bounds() -> None:
    assert make_cell([row("A", 3.0)], P50) == "3 s<br>p1r1"


def test_values_that_are_unknown_are_counted_or_explained() -> None:
    unknown = row("A", None, "p1r2", low=None, high=None, state="unknown", reason="no message came | through")
    assert make_cell([row("A", 3.0), unknown], P50) == "3 s; 1 unknown<br>p1r1, p1r2"
    assert make_cell([unknown], P50) == "unknown: no message came \\| through<br>p1r2"
    failed = row("A", None, low=None, high=None, state="failed", reason="the job died")
    assert make_cell([failed], P50) == "failed: the job died<br>p1r1"
    long = row("A", None, low=None, high=None, state="failed", reason="the job died " * 20)
    assert make_cell([long], P50).endswith("died the …<br>p1r1")
    busy = row("A", None, low=None, high=None, state="unknown", reason="suspect from 0 to 2 s (threads waited); stop")
    assert make_cell([busy], P50) == "unknown: suspect from 0 to 2 s<br>p1r1"
    assert make_cell([], P50) == "not run"


def test_a_rate_in_suspect_time_and_one_without_the_limits_of_its_hosts_is_not_measurable_here() -> None:
    busy = row("A", 400.0, low=400.0, high=2000.0, state="wide", reason="the machine was busy")
    assert make_cell([busy], RATE) == f"{NOT_MEASURABLE}: the machine was busy<br>p1r1"
    assert make_cell([busy, row("A", 500.0, "p1r2")], RATE) == "500/s; 1 unknown<br>p1r1, p1r2"
    free = row("A", None, low=None, high=None, state="unknown", reason="not measurable here: no cgroups")
    assert make_cell([free], RATE) == f"{NOT_MEASURABLE}: no cgroups<br>p1r1"


def test_the_table_has_a_column_for_each_engine_and_a_line_for_each_other_setting() -> None:
    rows = [row("A", 0.01), row("B", 0.5, "p2r1"), row("A", 0.02, "p3r1", rate="5000/s")]
    table = make_table(make_file(), rows, ["A", "B", "C"])
    assert table == [
        "| measured | A | B | C |",
        "|---|---|---|---|",
        f"| latency p50, rate 100/s | 10 ms<br>p1r1 | 500 ms<br>p2r1 | {NOT_OFFERED} |",
        f"| latency p50, rate 5000/s | 20 ms<br>p3r1 | not run | {NOT_OFFERED} |",
    ]


def test_items_are_named_only_where_a_response_has_several() -> None:
    one = [row("A", 0.01, item="only"), row("B", None, low=None, high=None, state="failed", reason="it died")]
    assert len(make_table(make_file(), one, ["A", "B"])) == 3
    two = [row("A", 0.01, item="first"), row("A", 0.02, item="second")]
    assert make_table(make_file(), two, ["A"])[2:] == [
        "| latency p50, rate 100/s, first | 10 ms<br>p1r1 |",
        "| latency p50, rate 100/s, second | 20 ms<br>p1r1 |",
    ]


def test_a_combination_that_the_sweep_leaves_out_is_not_offered() -> None:
    rows = [row("A", 0.01), row("B", 0.5, "p2r1"), row("A", 0.02, "p3r1", rate="5000/s")]
    table = make_table(make_file(without=[{"engine": "B", "rate": "5000/s"}]), rows, ["A", "B"])
    assert table[3] == f"| latency p50, rate 5000/s | 20 ms<br>p3r1 | {NOT_OFFERED} |"


def test_the_overview_has_the_range_of_every_response() -> None:
    rows = [row("A", 0.01), row("A", 0.02, rate="5000/s"), row("B", None, low=None, high=None, state="failed")]
    missing = ResultEntry("safety", Readme("safety"), missing="interrupted")
    lines = make_overview([entry_of(make_file(), rows), missing], ["A", "B", "C"])
    assert lines[4:] == [
        f"| [keeps-moving](#keeps-moving) | latency p50 10 ms to 20 ms | latency p50 – | {NOT_OFFERED} |",
        "| [safety](#safety) | not run | not run | not run |",
    ]


def test_an_engine_whose_points_did_not_run_is_not_said_to_offer_nothing() -> None:
    rows = [row("A", 0.01)]
    assert make_table(make_file(), rows, ["A", "B"])[2].endswith("| 10 ms<br>p1r1 | not run |")
    assert make_overview([entry_of(make_file(), rows)], ["A", "B"])[4].endswith("| not run |")


def test_figures_have_a_series_for_each_engine_and_their_axis_is_logarithmic_where_values_differ_much() -> None:
    file = make_file()
    rows = [row("A", 0.01), row("A", 0.02, rate="5000/s"), row("B", 0.5), row("B", 0.9, rate="5000/s")]
    (chart,) = make_engine_charts(file, rows)
    assert chart.name == "latency p50 over rate"
    assert [series.name for series in chart.series] == ["A", "B"]
    assert chart.y.scale == "log"
    (chart,) = make_engine_charts(file, [row("A", 0.01), row("B", 0.5, point=2, low=0.0, state="wide")])
    assert chart.y.scale == "log"
    (chart,) = make_engine_charts(file, [row("B", 0.5, point=2, low=0.1, state="wide"), row("A", 0.4)])
    assert [series.y for series in chart.series] == [(0.4, 0.5)]
    assert [series.low for series in chart.series] == [(0.4, 0.1)]
    assert chart.name == "latency p50 over engine"
    assert chart.x.names == ("A", "B")
    assert make_engine_charts(file, [row("A", 0.0), row("B", 0.0)]) == []
    assert chart.y.scale == "linear"


def test_engines_stand_side_by_side_over_an_axis_of_names() -> None:
    axes = {
        "engine": {"set": [], "values": ["A", "B"]},
        "program": {"set": "engines.job", "values": ["{A}", "{B}"]},
        "rate": {"set": [], "values": ["cut", "killed"]},
    }
    rows = [row("A", 1.0, rate="cut"), row("A", 2.0, rate="killed"), row("B", 1.0, rate="cut")]
    (chart,) = make_engine_charts(make_file(axes=axes), rows)
    assert chart.x.names == ("cut", "killed")
    assert [series.x for series in chart.series] == [(pytest.approx(-0.06), pytest.approx(0.94)), (0.06,)]


def test_the_page_shows_tables_figures_versions_machine_and_where_the_runs_are() -> None:
    entry = entry_of(make_file(), [row("A", 0.01), row("B", 0.5)])
    page = make_engine_page(
        [entry], command="s2g conformance --quick", figures="engines-compared", written=datetime(2026, 11, 17, 21)
    )
    assert "Written by `s2g conformance --quick` on 2026-11-17 21:00" in page
    assert "[more](../examples/engines-compared/keeps-moving/more.md)" in page
    assert "(engines-compared/keeps-moving-latency-p50-over-engine.svg)" in page
    assert "2 cores" in page
    assert "flink 2.3.0" in page
    assert "`all/keeps-moving`" in page
    assert "this was a coarse pass" in page


def write(entry: ResultEntry) -> str:
    return make_engine_page([entry], command="s2g conformance", figures="figures", written=datetime(2026, 11, 18))


def test_a_requirement_that_was_not_measured_this_time_stays_on_the_page() -> None:
    file = make_file()
    page = write(entry_of(file, [row("A", 0.01), row("B", 0.5)]))
    readme = Readme("keeps-moving", "See [more](more.md).")
    missing = ResultEntry("keeps-moving", readme, missing="it was not asked for", file=file)
    assert "Not run: it was not asked for." in write(missing)
    kept = replace(missing, earlier=read_page(page)[missing.anchor])
    assert write(kept).splitlines()[4:] == page.splitlines()[4:]


def test_a_requirement_of_other_engines_does_not_stay_on_the_page() -> None:
    page = write(entry_of(make_file(), [row("A", 0.01), row("B", 0.5)]))
    readme = Readme("keeps-moving", "See [more](more.md).")
    engine = {"engine": {"set": [], "values": ["A", "C"]}, "program": {"set": "engines.job", "values": ["a", "c"]}}
    now = make_file(axes={**engine, "rate": {"set": "producers.gen.rate", "values": ["100/s"]}})
    earlier = read_page(page)["keeps-moving"]
    said = write(ResultEntry("keeps-moving", readme, missing="it was not asked for", file=now, earlier=earlier))
    assert "Not run: it was not asked for." in said
    assert "500 ms" not in said


def test_the_page_has_all_requirements_although_one_was_asked_for() -> None:
    entry = entry_of(make_file(), [row("A", 0.01)])
    shown = add_others(GroupResult("engines-compared", (entry,)))
    assert [one.name for one in shown.entries] == list(ORDER)
    assert [one.name for one in shown.entries if one.result is not None] == ["keeps-moving"]
    assert set(list_engines(shown.entries)) == {*ALL, "A", "B"}


def test_of_zipped_axes_the_first_is_told() -> None:
    assert list_told_axes(make_file()) == ["engine", "rate"]


def test_the_sweep_with_most_engines_gives_the_order_of_the_columns() -> None:
    few = make_file(
        axes={
            "engine": {"set": [], "values": ["B", "C"]},
            "program": {"set": "engines.job", "values": ["{B}", "{C}"]},
            "rate": {"set": "producers.gen.rate", "values": ["100/s"]},
        }
    )
    assert list_engines([entry_of(few, []), entry_of(make_file(), [])]) == ["B", "C", "A"]


def test_every_bundled_requirement_can_be_planned_for_every_engine_that_offers_it() -> None:
    group = choose([])
    assert list(group.files) == list(ORDER) == list(OFFERED)
    for name, file in group.files.items():
        loaded = load_sweep(file)
        assert loaded.file.name == name
        plan = make_sweep_plan(loaded.file)
        assert check_points(loaded, plan).warnings == (), name
        for one in (plan, make_sweep_plan(loaded.file, is_quick=True)):
            assert {str(run.values["engine"]) for run in one.runs} == OFFERED[name], name


def test_every_engine_suffers_four_faults_but_one_without_a_coordinator() -> None:
    plan = make_sweep_plan(load_sweep(choose(["safety"]).files["safety"]).file, is_quick=True)
    suffered = {(str(run.values["engine"]), str(run.values["fault"])) for run in plan.runs}
    assert len(suffered) == 15
    assert ("Kafka Streams", "coordinator killed") not in suffered


def test_requirements_are_chosen_by_name() -> None:
    assert list(choose(["safety"]).files) == ["safety"]
    with pytest.raises(BadInput, match="there are: imperfect, keeps-moving, predictable, respond, safety, scale"):
        choose(["safty"])
