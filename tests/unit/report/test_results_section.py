"""The results of a run in its report: the last messages of topics, the last rows of tables; escaped and bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream2gym.report.facts import read_facts
from stream2gym.report.formats.markdown import make_markdown
from stream2gym.report.recorded_results import LONGEST_CELL, MOST_ROWS, read_results, split_fields
from stream2gym.report.write import write_report
from tests.unit.report.page import Page
from tests.unit.report.synthetic import tiny_run


def message(offset: int, value: str, topic: str = "out", **more: Any) -> dict[str, Any]:
    return {"at_ns": offset, "topic": topic, "partition": 0, "offset": offset, "key": None, "value": value, **more}


def run_with(base: Path, *lines: dict[str, Any]) -> Path:
    folder = tiny_run(base)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "values.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"torn')
    return folder


def test_what_topics_held_at_the_end_is_shown_the_last_first(tmp_path: Path) -> None:
    end = [message(offset, f"value {offset}", end=True) for offset in range(20)]
    folder = run_with(tmp_path, *end, message(99, "seen on the way", topic="in"))
    [sample] = read_results(folder)
    assert sample.title == "Last messages of out"
    assert len(sample.rows) == MOST_ROWS
    assert sample.rows[0] == ("0/19", None, "value 19")
    assert sample.at_end


def test_values_that_are_alike_have_a_column_for_each_field() -> None:
    values = ['{"word": "a", "count": 1.50, "is_new": true}', '{"word": "b", "count": null, "is_new": false}']
    assert split_fields(values) == (("word", "count", "is_new"), [("a", "1.5", "true"), ("b", None, "false")])
    for other in ('{"word": "a"}', "[1]", "words", "", '{"count": 1, "word": "a", "is_new": true}', '{"word": {}}'):
        columns, rows = split_fields([values[0], other])
        assert columns == ("value",)
        assert rows == [(values[0],), (other,)]
    assert split_fields(['{"word": [1]}'])[0] == ("value",), "what is nested stays as it is"
    assert split_fields(["{}"])[0] == ("value",)


def test_a_run_without_an_end_shows_what_was_seen_last(tmp_path: Path) -> None:
    folder = run_with(tmp_path, message(1, "a"), message(1, "a"), message(2, "b"))
    [sample] = read_results(folder)
    assert [row[2] for row in sample.rows] == ["b", "a"]
    assert not sample.at_end
    assert "no end at which they could be read" in write_report(folder).read_text("utf-8")


def test_the_newest_rows_of_a_table_are_shown(tmp_path: Path) -> None:
    table = {"store": "db", "table": "totals", "by": "id", "columns": ["id", "sum"]}
    folder = run_with(
        tmp_path,
        {"at_ns": 2, **table, "rows": [["2", None], ["1", "x" * 5000]], "end": True},
        {"at_ns": 1, **table, "rows": [["1", "old"]]},
    )
    [sample] = read_results(folder)
    assert sample.title == "Last rows of db/totals, by id"
    assert sample.rows[0] == ("2", None)
    assert len(sample.rows[1][1] or "") == LONGEST_CELL


def test_results_cannot_become_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> | `x` [a](b)"
    folder = run_with(tmp_path, message(1, evil, end=True), message(2, evil, topic="<b>", end=True))
    text = write_report(folder).read_text("utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    markdown = make_markdown(read_facts(folder))
    assert "<script" not in markdown
    assert "| 0/1 |  | &lt;script&gt;alert(1)&lt;/script&gt; \\| \\`x\\` \\[a\\](b) |" in markdown


def test_a_run_without_results_has_no_section(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path)
    assert 'id="results"' not in write_report(folder).read_text("utf-8")
    assert "Results" not in make_markdown(read_facts(folder))
