"""The checks of the bundled examples, fed by hand: right results pass; a wrong, a missing and an odd one do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import EXAMPLES, feed_check

Data = dict[str, list[Any]]


def document(ident: str, text: str) -> str:
    return json.dumps({"id": ident, "text": text})


def position(ship: int, second: int, knots: float, kind: str = "cargo", lat: float = 54.0) -> dict[str, Any]:
    at = f"2026-03-01T12:00:{second:02}"
    return {"ship": ship, "kind": kind, "lat": lat, "lon": 8.0, "knots": knots, "at": at}


def message(value: str, time_ms: int) -> dict[str, Any]:
    return {"message": {"value": value, "time_ms": time_ms}}


MAIL = document("mail-1", "From: ada@example.org\n\nMeeting. Tomorrow, meeting!")
INVOICE = document("invoice-1", "Invoice no. 1\nTomorrow paint.\nTotal: 1.00 EUR")
ARTICLE = document("article-1", "River.\nThe river.")
# Worked out by hand: inputs, and the results that are right for them. Tables have a dot in their names.
RIGHT: dict[str, tuple[Data, Data]] = {
    "word-count": (
        {"files": ["One fish, two fish Topic: files File: 1", "two Topic: files File: 2"]},
        {
            "top": [
                {"word": "one", "total": 1},
                {"word": "two", "total": 1},
                {"word": "fish", "total": 2},
                {"word": "two", "total": 2},
            ]
        },
    ),
    "ride-selection": (
        {
            "rides": [
                {"ride": 1, "area": "station", "started": "2026-03-01T08:04:59"},
                {"ride": 2, "area": "station", "started": "2026-03-01T08:05:00"},
                {"ride": 3, "area": "late", "started": "2026-03-01T08:05:00"},
            ],
            "fares": [
                {"ride": 1, "tip_cents": 50, "paid": "2026-03-01T08:14:59"},
                {"ride": 1, "tip_cents": 7, "paid": "2026-03-01T08:15:00"},
                {"ride": 2, "tip_cents": 20, "paid": "2026-03-01T08:06:00"},
            ],
        },
        {
            "tips": [
                {"area": "station", "start": "08:00", "rides": 1, "tips": 50},
                {"area": "station", "start": "08:05", "rides": 1, "tips": 20},
            ]
        },
    ),
    "maritime-monitoring": (
        {
            "positions": [
                position(1, 0, 7.0),
                position(1, 59, 9.5),
                position(2, 5, 0.1),
                position(3, 5, 9.0, "pilot"),
                position(4, 5, 9.0, lat=53.0),
            ]
        },
        {"archive.traffic": [{"ship": 1, "minute": "12:00", "heard": 2, "knots": 9.5}]},
    ),
    "real-time": (
        {"in": [message("a", 1000), message("b", 2000)]},
        {
            "batched": [message("a", 1600), message("b", 2700)],
            "instant": [message("a", 1005), message("b", 2004)],
        },
    ),
    "traffic-monitoring": (
        {
            "flows": [
                {"user": 1, "packet": 0, "port": 443, "bytes": 100, "at": "2026-03-01T20:00:00.100"},
                {"user": 2, "packet": 0, "port": 443, "bytes": 60, "at": "2026-03-01T20:00:09.900"},
                {"user": 2, "packet": 1, "port": 443, "bytes": 70, "at": "2026-03-01T20:00:10.000"},
            ]
        },
        {
            "ports": [
                {"port": 443, "start": "20:00:00", "packets": 1, "bytes": 100, "users": 1},
                {"port": 443, "start": "20:00:00", "packets": 2, "bytes": 160, "users": 2},
                {"port": 443, "start": "20:00:10", "packets": 1, "bytes": 70, "users": 1},
            ]
        },
    ),
    "sentiment-analysis": (
        {"posts": ["What a good day :)", "It rains."]},
        {
            "moods": [
                {"text": "What a good day :)", "polarity": 0.6, "subjectivity": 0.8},
                {"text": "It rains.", "polarity": 0.0, "subjectivity": 0.0},
            ]
        },
    ),
    "document-analytics": (
        {"scans": [MAIL, INVOICE], "uploads": [ARTICLE]},
        {
            "mails": [MAIL],
            "invoices": [INVOICE],
            "articles": [ARTICLE],
            "lengths": [
                {"kind": "mails", "documents": 1, "shortest": 7, "median": 7.0, "longest": 7},
                {"kind": "invoices", "documents": 1, "shortest": 6, "median": 6.0, "longest": 6},
                {"kind": "articles", "documents": 1, "shortest": 3, "median": 3.0, "longest": 3},
            ],
            "keywords": [
                {
                    "kind": "mails",
                    "keywords": [
                        {"word": "meeting", "score": 2.197},
                        {"word": "ada", "score": 1.099},
                        {"word": "example", "score": 1.099},
                        {"word": "from", "score": 1.099},
                        {"word": "org", "score": 1.099},
                    ],
                },
                {
                    "kind": "invoices",
                    "keywords": [
                        {"word": word, "score": 1.099} for word in ("eur", "invoice", "no", "paint", "total")
                    ],
                },
                {
                    "kind": "articles",
                    "keywords": [{"word": "river", "score": 2.197}, {"word": "the", "score": 1.099}],
                },
            ],
        },
    ),
}


QUICK = [name for name in RIGHT if name != "sentiment-analysis"]  # whose library takes seconds to load


def feed(name: str, folder: Path, results: Data) -> int | None:
    if name == "sentiment-analysis":
        pytest.importorskip("textblob")
    everything = RIGHT[name][0] | results
    tables = {key: rows for key, rows in everything.items() if "." in key}
    topics = {key: rows for key, rows in everything.items() if "." not in key}
    return feed_check(name, folder, topics=topics, tables=tables).mismatches


def changed(value: Any) -> Any:
    """The result with its last number or word made another one."""
    if isinstance(value, dict):
        key = "value" if "time_ms" in value else list(value)[-1]
        return value | {key: changed(value[key])}
    if isinstance(value, list):
        return [*value[:-1], changed(value[-1])]
    return value + 1 if isinstance(value, int | float) else value + "x"


@pytest.mark.parametrize("name", RIGHT)
def test_right_results_pass(name: str, tmp_path: Path) -> None:
    assert feed(name, tmp_path, RIGHT[name][1]) == 0


@pytest.mark.parametrize("name", RIGHT)
def test_a_wrong_result_in_any_topic_is_found(name: str, tmp_path: Path) -> None:
    results = RIGHT[name][1]
    for topic, rows in results.items():
        assert feed(name, tmp_path, results | {topic: [*rows[:-1], changed(rows[-1])]}), topic


@pytest.mark.parametrize("name", QUICK)
def test_a_missing_result_in_any_topic_is_found(name: str, tmp_path: Path) -> None:
    results = RIGHT[name][1]
    for topic, rows in results.items():
        assert feed(name, tmp_path, results | {topic: rows[:-1]}), topic


@pytest.mark.parametrize("name", QUICK)
def test_input_that_never_came_makes_no_check_pass(name: str, tmp_path: Path) -> None:
    inputs, results = RIGHT[name]
    nothing: Data = {key: [] for key in inputs | results}
    assert feed(name, tmp_path, nothing) != 0


def test_real_time_that_is_slower_than_batches_is_found(tmp_path: Path) -> None:
    batched, instant = RIGHT["real-time"][1].values()
    assert feed("real-time", tmp_path, {"batched": instant, "instant": batched}) == 1


def test_every_example_with_a_check_is_fed_here() -> None:
    fed_elsewhere = {
        "fraud-detection", "intrusion-detection", "own-pipeline",
        "complex-events", "imperfect-streams", "lambda-architecture", "socket-word-count",
    }  # fmt: skip
    with_check = {path.parent.name for path in EXAMPLES.glob("*/check.py")}
    assert with_check - fed_elsewhere == set(RIGHT)
