"""The checks of fraud and intrusion detection know right from wrong: they are fed with results made by hand."""

from __future__ import annotations

import csv
import json
from math import exp
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import EXAMPLES, Checked, feed_check


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


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
    topics = {name: rows(EXAMPLES / "fraud-detection" / f"{name}.jsonl") for name in ("payments", "complaints")}
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
