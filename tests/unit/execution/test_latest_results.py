"""Which topics hold results, and how the last rows of stores are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stream2gym.execution.latest_results import StoreRows, find_output_topics, note_at_end
from stream2gym.record.latest_values import EVERY_NS
from stream2gym.spec.model import Experiment


def experiment(**parts: Any) -> Experiment:
    topology = {"hosts": ["h1", "h2"], "links": ["h1 -- h2"]}
    return Experiment.model_validate(
        {"s2g": 1, "name": "x", "topology": topology, "brokers": [{"on": "h1"}], **parts}
    )


def test_results_are_what_nobody_of_the_experiment_produces_and_what_is_only_consumed() -> None:
    found = find_output_topics(
        experiment(
            topics=["raw", "counts", "seen", "by-pattern"],
            producers=[{"on": "h1", "topic": "raw"}, {"on": "h1", "topics": ["seen", "by-pattern"]}],
            consumers=[{"on": "h2", "topics": ["seen"]}, {"on": "h2", "pattern": "by-.*"}],
        )
    )
    assert found == ["counts", "seen", "by-pattern"]


def test_what_an_engine_is_said_to_read_is_no_result_even_if_somebody_looks_at_it() -> None:
    found = find_output_topics(
        experiment(
            topics=["in", "out"],
            producers=[{"on": "h1", "topic": "in"}],
            consumers=[{"on": "h2", "topics": ["in", "out"]}],
            trace=[{"from": "in", "to": "out", "by": "value"}],
        )
    )
    assert found == ["out"]


def test_rows_that_change_often_are_written_now_and_then_and_the_newest_at_the_end(tmp_path: Path) -> None:
    folder: Any = SimpleNamespace(raw=tmp_path)
    rows = StoreRows(folder)
    for look in range(8):
        table = {"table": "t", "columns": ["n"], "rows": [[str(look)]]}
        rows.take({"at_ns": look * EVERY_NS // 4, "found": {"db": {"latest": [table]}}, "failed": {}})
    rows.close()
    note_at_end(folder, [{"store": "db", "table": "t", "columns": ["n"], "rows": [["8"]]}])
    written = [json.loads(line) for line in (tmp_path / "stores.values").read_text().splitlines()]
    assert [line["rows"] for line in written] == [[["0"]], [["5"]]]
    [end] = [json.loads(line) for line in (tmp_path / "end.values").read_text().splitlines()]
    assert end["end"] is True
    assert end["rows"] == [["8"]]
