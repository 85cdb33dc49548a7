"""What was done by hand to jobs, from the events of a run: the table of it, and where components are."""

from __future__ import annotations

from pathlib import Path

from stream2gym.analysis.csv_tables import write_tables
from stream2gym.analysis.job_history import find_jobs, place_jobs
from stream2gym.analysis.result_tables import Analysis, JobRow
from tests.unit.report.synthetic import plan

EVENTS = [
    {"event": "job-submitted", "t_s": 2.0, "component": "late", "host": "h1", "part": "consumer"},
    {"event": "started", "t_s": 2.1, "component": "late", "host": "h1"},
    {"event": "job-moved", "t_s": 6.0, "component": "late", "host": "h1", "to": "h2"},
    {"event": "job-stopped", "t_s": 8.0, "component": "late", "host": "h2"},
    {"event": "job-stopped", "t_s": 9.0},
]
JOBS = (
    JobRow("late", "submitted", 2.0, "h1"),
    JobRow("late", "moved", 6.0, "h1", "h2"),
    JobRow("late", "stopped", 8.0, "h2"),
)


def test_every_change_is_a_row_and_other_events_are_not() -> None:
    assert find_jobs(EVENTS) == JOBS


def test_the_table_is_stored_with_the_analysis(tmp_path: Path) -> None:
    analysis = Analysis(run="r", load_s=10.0, step_s=1.0, jobs=JOBS)
    assert Analysis.from_json(analysis.to_json()).jobs == JOBS
    write_tables(analysis, tmp_path / "analysis")
    head, *rows = (tmp_path / "analysis" / "jobs.csv").read_text().splitlines()
    assert head == "component,did,at_s,host,to"
    assert rows == ["late,submitted,2.0,h1,", "late,moved,6.0,h1,h2", "late,stopped,8.0,h2,"]


def test_a_moved_component_is_on_its_new_host_and_one_that_joins_later_is_not_there() -> None:
    planned = plan("p", 6)
    producer = planned.components[3]
    moved = place_jobs(planned, [JobRow(producer.name, "moved", 1.0, producer.host, "h6")])
    assert {part.name: part.host for part in moved.components}[producer.name] == "h6"
    without = place_jobs(planned, [], [JobRow(producer.name, "submitted", 5.0, producer.host)])
    assert producer.name not in {part.name for part in without.components}
    assert place_jobs(planned, [JobRow(producer.name, "stopped", 1.0, producer.host)]) is planned
