"""Ten sites with one of them cut off, for real; and broken copies of the applications, which are found out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream2gym.api import Result, run
from stream2gym.report.sections.delivery_matrix import count_deliveries
from tests.support.examples import EXAMPLES, Changes, run_copy, verdict_of

pytestmark = pytest.mark.timeout(900)
SITES = range(1, 11)
CUT = 8
NS = 1_000_000_000


# the military scenario


def recorded(result: Result) -> dict[tuple[str, str], Counter[str]]:
    """The fates of every radio's messages at every desk, straight from the recorded tables."""
    sent = result.table("sent").to_pylist()
    first: dict[tuple[str, str, str, int], int] = {}
    for row in result.table("received").to_pylist():
        key = (row["topic"], row["producer"], row["group"], row["seq"])
        first[key] = min(row["at_ns"], first.get(key, row["at_ns"]))
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in sent:
        for desk in SITES:
            counts = found.setdefault((row["producer"], f"desk-{desk}"), Counter())
            at_ns = first.get((row["topic"], row["producer"], f"desk-{desk}", row["seq"]))
            if at_ns is not None:
                counts["late" if at_ns - row["due_ns"] > NS else "in_time"] += 1
            elif row["status"] in ("acked", "unconfirmed"):
                counts["missing"] += 1
            else:
                counts["given_up"] += 1
    return found


def site_cut(tmp_path: Path, **overrides: str) -> tuple[Result, dict[tuple[str, str], Counter[str]]]:
    """Run it and hold the matrix of the report against the record, cell by cell."""
    path = EXAMPLES / "military-coordination" / "site-cut.yaml"
    result = run(path, overrides=overrides, out=tmp_path / "run")
    assert result.error is None
    events = [event["event"] for event in result.folder.read_events()]
    assert "fault-applied" in events
    assert "fault-healed" in events
    assert "fault-failed" not in events
    assert result.analysis is not None
    matrix, record = count_deliveries(result.analysis), recorded(result)
    assert set(matrix) == set(record) == {(f"radio-{a}", f"desk-{b}") for a in SITES for b in SITES}
    for pair, fate in matrix.items():
        assert (fate.in_time, fate.late, fate.given_up, fate.lost + fate.in_flight) == tuple(
            record[pair][name] for name in ("in_time", "late", "given_up", "missing")
        ), pair
    lines = (result.path / "figures" / "delivery-matrix.csv").read_text().splitlines()
    assert lines[0] == "producer,group,in time,late,in flight,given up,lost"
    assert len(lines) == 101
    return result, record


def of_row(record: dict[tuple[str, str], Counter[str]], name: str, radio: int = CUT) -> dict[int, int]:
    """By desk: how many messages of a radio had this fate."""
    return {desk: record[f"radio-{radio}", f"desk-{desk}"][name] for desk in SITES}


def of_column(record: dict[tuple[str, str], Counter[str]], name: str, desk: int = CUT) -> dict[int, int]:
    return {radio: record[f"radio-{radio}", f"desk-{desk}"][name] for radio in SITES}


def lost(result: Result, **wanted: Any) -> int:
    assert result.analysis is not None
    rows = [row for row in result.analysis.audit if all(getattr(row, key) == value for key, value in wanted.items())]
    return sum(row.lost for row in rows)


@pytest.mark.long
def test_ten_sites_get_everything_from_each_other(tmp_path: Path) -> None:
    played = run_copy("military-coordination", tmp_path)
    assert played.outcome.error is None
    counts = played.outcome.counts
    assert counts["sent"] == counts["acked"] == 1000
    assert counts["received"] == 10 * counts["sent"]


@pytest.mark.long
def test_a_site_that_was_cut_off_is_late_and_loses_nothing_when_all_replicas_acknowledge(
    tmp_path: Path,
) -> None:
    result, record = site_cut(tmp_path)
    assert lost(result) == 0
    assert not any(counts["missing"] or counts["given_up"] for counts in record.values())
    assert all(number > 0 for number in of_row(record, "late").values())
    assert all(number > 0 for number in of_column(record, "late").values())


@pytest.mark.long
def test_what_a_broker_that_is_cut_off_acknowledges_alone_is_lost_at_every_site(tmp_path: Path) -> None:
    result, record = site_cut(tmp_path, **{"producers.radio-8.acks": "1"})
    assert result.verdict == "fail"
    missing = of_row(record, "missing")
    assert all(number > 0 for number in missing.values())
    assert lost(result, producer="radio-8") == sum(missing.values())
    assert all(number > 0 for number in of_column(record, "late").values())


@pytest.mark.long
def test_what_is_sent_without_asking_for_an_answer_is_lost_and_nobody_is_told(tmp_path: Path) -> None:
    result, record = site_cut(tmp_path, **{"producers.radio-8.acks": "0"})
    assert result.analysis is not None
    assert all(number > 0 for number in of_row(record, "missing").values())
    assert lost(result, producer="radio-8") == 0, "nobody acknowledged it"
    rows = [row for row in result.analysis.audit if row.producer == "radio-8"]
    assert sum(row.unconfirmed_lost + row.in_flight for row in rows) == sum(of_row(record, "missing").values())


@pytest.mark.long
def test_a_producer_that_gives_up_soon_knows_what_did_not_arrive(tmp_path: Path) -> None:
    result, record = site_cut(tmp_path, **{"producers.radio-8.client": "{message.timeout.ms: 3000}"})
    assert all(number > 0 for number in of_row(record, "given_up").values())
    assert lost(result, producer="radio-8") == 0
    assert result.verdict == "fail", "failed == 0 was expected"


@pytest.mark.long
def test_what_is_deleted_before_a_site_is_back_is_lost_there(tmp_path: Path) -> None:
    result, record = site_cut(tmp_path, **{"kafka.config.log.retention.ms": "4000"})
    assert result.verdict == "fail"
    others = {radio: number for radio, number in of_column(record, "missing").items() if radio != CUT}
    assert all(number > 0 for number in others.values())
    assert sum(others.values()) <= lost(result, group="desk-8")


# broken copies

# Those of the other applications are exercises in their READMEs, see test_examples_exercises.py.
BROKEN: dict[str, Changes] = {
    "maritime-monitoring": {"watch.py": {" AND kind != 'pilot'": ""}},
    "real-time": {"copy_topic.py": {'selectExpr("value")': "selectExpr(\"concat(value, '!') AS value\")"}},
    "traffic-monitoring": {"ports.py": {'total("bytes")': 'count("bytes")'}},
    "sentiment-analysis": {"moods.py": {"round(found.polarity, 4)": "-round(found.polarity, 4)"}},
}


@pytest.mark.long
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_copy_of_an_application_is_found_out(tmp_path: Path, name: str) -> None:
    played = run_copy(name, tmp_path, BROKEN[name])
    assert played.outcome.error is None
    said = verdict_of(played)
    assert said.compared > 0
    assert said.mismatches is not None
    assert said.mismatches > 0
