"""Fraud and intrusion detection: their checks know right from wrong, and broken copies of jobs are found out."""

from __future__ import annotations

import csv
import json
from math import exp
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import EXAMPLES, Checked, feed_check, run_copy, verdict_of
from tests.support.play import Played, play


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# the checks alone, fed with results made by hand


ALARMS = [
    ("scan", "203.0.113.1", "10.2.0.1", "08:00:30", 60),
    ("scan", "203.0.113.1", "10.2.0.1", "08:01:00", 60),
    ("scan", "203.0.113.2", "10.2.0.2", "08:06:30", 20),
    ("scan", "203.0.113.3", "10.2.0.3", "08:14:30", 30),
    ("scan", "203.0.113.3", "10.2.0.3", "08:15:00", 30),
    ("guess", "10.3.0.1", "clerk0", "08:02:20", 5),
    ("guess", "10.3.0.2", "clerk1", "08:09:56", 12),
    ("guess", "10.3.0.3", "clerk2", "08:16:46", 7),
    ("bare", "192.0.2.1", "admin0", "08:11:40", 0),
    ("bare", "192.0.2.2", "admin1", "08:12:40", 0),
    ("bare", "192.0.2.3", "admin2", "08:13:40", 0),
]


def judged_alarms(folder: Path, alarms: list[tuple[Any, ...]]) -> Checked:
    names = ("rule", "source", "what", "at", "count")
    said = [dict(zip(names, alarm, strict=True)) for alarm in alarms]
    log = rows(EXAMPLES / "intrusion-detection" / "log.jsonl")
    return feed_check("intrusion-detection", folder, topics={"log": log, "alarms": said})


def test_every_attack_once_is_right_whatever_became_of_what_came_too_late(tmp_path: Path) -> None:
    late = ("scan", "203.0.113.99", "10.2.0.6", "08:04:00", 40)
    for alarms in (ALARMS, [*ALARMS, late]):
        judged = judged_alarms(tmp_path, alarms)
        assert judged.mismatches == 0, judged.output
        assert judged.compared > len(ALARMS)


@pytest.mark.parametrize(
    "alarms",
    [
        ALARMS[1:],
        ALARMS[:-1],
        [*ALARMS, ALARMS[5]],
        [*ALARMS, ("scan", "203.0.113.11", "10.2.0.1", "08:02:30", 20)],
        [*ALARMS, ("bare", "192.0.2.11", "early", "08:13:10", 0)],
        [*ALARMS[:5], ("guess", "10.3.0.1", "clerk0", "08:02:20", 6), *ALARMS[6:]],
        [],
    ],
    ids=[
        "window missing",
        "attack missing",
        "told twice",
        "near miss",
        "negation missed",
        "miscounted",
        "silent",
    ],
)
def test_an_alarm_too_few_too_many_or_other_than_it_was_is_wrong(
    tmp_path: Path, alarms: list[tuple[Any, ...]]
) -> None:
    assert judged_alarms(tmp_path, alarms).mismatches


def judged_scores(folder: Path, scores: list[dict[str, Any]], precision: float | None = None) -> Checked:
    """As if the model said fraud of whatever happens at night."""
    with (EXAMPLES / "fraud-detection" / "training.csv").open() as file:
        held_out = [row for row in csv.DictReader(file) if int(row["row"]) % 4 == 0]
    hits = sum(row["night"] == row["fraud"] == "1" for row in held_out)
    alarms = sum(row["night"] == "1" for row in held_out)
    model = {
        "coefficients": {"size": 0.0, "distance": 0.0, "pause": 0.0, "night": 2.0, "abroad": 0.0},
        "intercept": -1.0,
        "precision": hits / alarms if precision is None else precision,
        "recall": hits / sum(row["fraud"] == "1" for row in held_out),
    }
    topics = {
        name: rows(EXAMPLES / "fraud-detection" / f"{name}.jsonl") for name in ("payments", "complaints")
    }
    return feed_check("fraud-detection", folder, topics={**topics, "models": [model], "scores": scores})


def right_scores() -> list[dict[str, Any]]:
    return [
        {
            "payment": row["payment"],
            "probability": 1 / (1 + exp(1 - 2 * row["night"])),
            "fraud": row["night"] == 1,
        }
        for row in rows(EXAMPLES / "fraud-detection" / "payments.jsonl")
    ]


def test_scores_as_the_coefficients_have_it_are_right_and_their_quality_is_stated(tmp_path: Path) -> None:
    judged = judged_scores(tmp_path, right_scores())
    assert judged.mismatches == 0, judged.output
    assert judged.compared == 602
    assert '"precision": 0.' in judged.output
    assert '"recall": 0.' in judged.output


def test_a_score_missing_doubled_or_different_and_a_quality_that_was_made_up_are_wrong(
    tmp_path: Path,
) -> None:
    right = right_scores()
    other_class = [row | {"probability": 1 - row["probability"]} for row in right]
    other_verdict = [right[0] | {"fraud": not right[0]["fraud"]}, *right[1:]]
    assert judged_scores(tmp_path, right[1:]).mismatches == 1
    assert judged_scores(tmp_path, [*right, right[0]]).mismatches == 1
    assert judged_scores(tmp_path, other_class).mismatches == 600
    assert judged_scores(tmp_path, other_verdict).mismatches == 1
    assert judged_scores(tmp_path, right, precision=1.0).mismatches == 1


# for real


def ran_well(run: Played) -> dict[str, Any]:
    assert run.outcome.error is None
    assert not run.events("check-failed")
    (said,) = run.events("checked")
    assert said["compared"] > 0
    assert said["mismatches"] == 0
    return said


@pytest.mark.long
def test_a_model_of_one_job_judges_the_stream_in_another(tmp_path: Path) -> None:
    run = play(EXAMPLES / "fraud-detection" / "experiment.yaml", tmp_path)
    said = ran_well(run)
    assert said["precision"] >= 0.8
    assert said["recall"] >= 0.7
    assert run.samples("program", "train", "precision")[0] >= 0.8
    (trained,) = run.events("finished", component="train")
    (started,) = run.events("query-started", component="score")
    (load,) = run.events("phase", phase="load")
    assert trained["at_ns"] < load["at_ns"]
    assert started["at_ns"] < load["at_ns"]


@pytest.mark.long
def test_every_planted_attack_is_found_and_none_invented(tmp_path: Path) -> None:
    run = play(EXAMPLES / "intrusion-detection" / "experiment.yaml", tmp_path)
    assert ran_well(run)["found"] == 9
    for rule in ("scan", "guess", "bare"):
        assert max(run.samples("spark", f"rules.{rule}", "state_rows")) > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "file", "old", "new"),
    [
        ("fraud-detection", "score.py", '("probability")[1]', '("probability")[0]'),
        ("intrusion-detection", "rules.py", "failed < at AND", "failed < at + INTERVAL 1 MINUTE AND"),
        ("intrusion-detection", "rules.py", "opened <= at AND", "opened <= at + INTERVAL 5 MINUTES AND"),
    ],
    ids=["the other class", "no order in the sequence", "no order in the negation"],
)
def test_a_broken_copy_is_found_out(tmp_path: Path, name: str, file: str, old: str, new: str) -> None:
    run = run_copy(name, tmp_path, {file: {old: new}})
    assert run.outcome.error is None
    assert verdict_of(run).mismatches


@pytest.mark.long
def test_a_poor_model_is_no_mismatch_but_falls_short(tmp_path: Path) -> None:
    poor = {'["size", "distance", "pause", "night", "abroad"]': '["size", "night"]'}
    run = run_copy("fraud-detection", tmp_path, {"train.py": poor})
    assert ran_well(run)["recall"] < 0.7
