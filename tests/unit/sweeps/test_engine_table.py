"""The table that holds engines against each other: medians between bounds, the runs behind them, what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.cli.conformance import choose
from stream2gym.errors import BadInput
from stream2gym.sweeps.check_points import check_points
from stream2gym.sweeps.engine_table import NOT_OFFERED, make_cell, make_table
from stream2gym.sweeps.load_sweep import load_sweep
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.sweep_file import Response
from stream2gym.sweeps.sweep_plan import make_sweep_plan

P50 = Response(name="latency p50", metric="trace_latency.p50(from=in, to=out)")


def row(engine: str, value: float | None, run: str = "p1r1", *, rate: str = "100/s", **keys: Any) -> ResponseRow:
    known: dict[str, Any] = {
        "point": 1, "repeat": 1, "seed": 1, "axes": {"engine": engine, "program": "{...}", "rate": rate},
        "response": P50.label, "item": "", "value": value, "low": value, "high": value, "state": "measured",
        "verdict": "pass", "reason": "", "run": run,
    }  # fmt: skip
    return ResponseRow(**{**known, **keys})


def test_a_cell_has_the_median_between_the_bounds_of_all_runs_and_names_them() -> None:
    rows = [row("A", 0.010, "p1r1", low=0.009), row("A", 0.020, "p1r2"), row("A", 0.030, "p1r3", high=0.035)]
    assert make_cell(rows, "s") == "20 ms (9 ms to 35 ms)<br>p1r1, p1r2, p1r3"


def test_one_exact_value_needs_no_bounds() -> None:
    assert make_cell([row("A", 3.0)], "") == "3<br>p1r1"


def test_values_that_are_unknown_are_counted_or_explained() -> None:
    unknown = row("A", None, "p1r2", low=None, high=None, state="unknown", reason="no message came | through")
    assert make_cell([row("A", 3.0), unknown], "") == "3; 1 unknown<br>p1r1, p1r2"
    assert make_cell([unknown], "") == "unknown: no message came \\| through<br>p1r2"
    failed = row("A", None, low=None, high=None, state="failed", reason="the job died")
    assert make_cell([failed], "") == "failed: the job died<br>p1r1"
    assert make_cell([], "") == "not run"


def test_the_table_has_a_column_for_each_engine_and_a_line_for_each_other_setting() -> None:
    rows = [row("A", 0.01), row("B", 0.5, "p2r1"), row("A", 0.02, "p3r1", rate="5000/s")]
    table = make_table([P50], rows, ["A", "B", "C"])
    assert table == [
        "| measured | A | B | C |",
        "|---|---|---|---|",
        f"| latency p50, rate 100/s | 10 ms<br>p1r1 | 500 ms<br>p2r1 | {NOT_OFFERED} |",
        f"| latency p50, rate 5000/s | 20 ms<br>p3r1 | not run | {NOT_OFFERED} |",
    ]


def test_every_bundled_requirement_can_be_planned_for_every_engine() -> None:
    group = choose([])
    assert set(group.files) == {"keeps-moving", "safety", "respond"}
    for name, file in group.files.items():
        loaded = load_sweep(file)
        assert loaded.file.name == name
        plan = make_sweep_plan(loaded.file, is_quick=True)
        assert check_points(loaded, plan).warnings == ()
        engines = {str(run.values["engine"]) for run in plan.runs}
        assert engines == {"Spark micro-batches", "Spark Real-Time Mode", "Kafka Streams"}


def test_requirements_are_chosen_by_name() -> None:
    assert list(choose(["safety"]).files) == ["safety"]
    with pytest.raises(BadInput, match="there are: keeps-moving, respond, safety"):
        choose(["safty"])
