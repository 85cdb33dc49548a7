"""The test that a new user writes in the benchmark of their first hour: what it sets is valid and loses messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.firsttest import EXAMPLE, RED, TEST
from stream2gym.prepare import prepare_experiment

ROOT = Path(__file__).resolve().parents[2]


def test_what_the_test_sets_is_valid_for_the_example_that_it_copies() -> None:
    names: dict[str, Any] = {}
    exec(compile(TEST, "test_orders.py", "exec"), names)
    found = prepare_experiment(str(ROOT / "examples" / EXAMPLE), overrides=names["LOSES"]).experiment
    [producer] = found.producers
    assert (str(producer.acks), producer.idempotence) == ("1", False)
    assert [fault.do for fault in found.faults] == ["partition", "kill"]
    assert [str(one) for one in found.expect] == ["lost == 0"]
    assert "gym.run" in TEST


def test_the_manual_shows_the_same_test() -> None:
    assert TEST in (ROOT / "docs" / "tools.md").read_text("utf-8")


def test_a_red_line_tells_how_many_messages_were_lost() -> None:
    found = RED.search("  fail     lost == 0                    1,024 (billing)")
    assert found is not None
    assert found[1] == "1,024"
