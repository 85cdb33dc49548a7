"""What a Kafka Streams program reports of itself, as states and samples."""

from __future__ import annotations

from typing import Any

from stream2gym.components.streams_report import ERROR, RUNNING, StreamsReport


def numbers(**values: float) -> dict[str, Any]:
    return {"numbers": values, "assigned": [["in", 0], ["words-repartition", 1]]}


def report_at(*times_s: float) -> StreamsReport:
    clock = iter(times_s)
    return StreamsReport(clock=lambda: next(clock))


def test_only_another_state_is_news() -> None:
    report = StreamsReport()
    told = [report.take_state({"state": state}) for state in ("REBALANCING", RUNNING, RUNNING, ERROR)]
    assert told == ["REBALANCING", RUNNING, "", ERROR]
    assert report.state == ERROR
    assert report.take_state({"numbers": {}}) == ""


def test_totals_become_what_came_since_the_last_report() -> None:
    report = report_at(10.0, 10.5, 11.5)
    assert ("rows", 40.0) in report.take_numbers(numbers(processed=40, sends=7))
    second = dict(report.take_numbers(numbers(processed=60, sends=7)))
    assert second["rows"] == 20
    assert second["rows_a_second"] == 40
    assert second["sends"] == 0
    assert dict(report.take_numbers(numbers(processed=160)))["rows_a_second"] == 100


def test_other_numbers_are_taken_as_they_are() -> None:
    found = dict(report_at(0.0).take_numbers(numbers(commit_ms=3.5, threads=2, partitions=4, other=1)))
    assert found == {"commit_ms": 3.5, "threads": 2, "partitions": 4}


def test_a_count_that_goes_back_is_no_negative_number_of_rows() -> None:
    report = report_at(0.0, 1.0)
    report.take_numbers(numbers(processed=100))
    assert dict(report.take_numbers(numbers(processed=30)))["rows"] == 0


def test_what_it_holds_is_what_it_named_last() -> None:
    report = report_at(0.0, 1.0)
    report.take_numbers(numbers())
    assert report.assigned() == {("in", 0), ("words-repartition", 1)}
    report.take_numbers({"numbers": {}, "assigned": []})
    assert report.assigned() == set()


def test_nobody_knows_what_it_holds_until_it_has_named_it_in_its_new_state() -> None:
    report = report_at(0.0, 1.0)
    report.take_state({"state": RUNNING})
    assert not report.has_named_partitions
    report.take_numbers(numbers())
    assert report.has_named_partitions
    report.take_state({"state": "REBALANCING"})
    assert not report.has_named_partitions
    report.take_numbers(numbers())
    report.on_start()
    assert not report.has_named_partitions


def test_a_program_that_starts_again_counts_from_zero_and_holds_nothing() -> None:
    report = report_at(0.0, 1.0)
    report.take_state({"state": RUNNING})
    report.take_numbers(numbers(processed=100))
    report.on_start()
    assert report.state == ""
    assert report.assigned() == set()
    assert dict(report.take_numbers(numbers(processed=30)))["rows"] == 30


def test_a_report_without_numbers_gives_no_samples() -> None:
    assert report_at().take_numbers({"state": RUNNING}) == []


def test_the_application_is_the_one_that_a_program_names_itself() -> None:
    report = report_at(0.0, 1.0)
    assert report.application == ""
    report.take_numbers({"numbers": {}, "assigned": [], "application": "words"})
    report.take_numbers({"numbers": {}, "assigned": [], "application": ""})
    assert report.application == "words"
