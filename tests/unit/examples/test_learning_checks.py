"""The checks of the examples for learners, fed by hand: right results pass; wrong, missing and odd ones do not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import EXAMPLES, Checked, feed_check


def rows(example: str, file: str) -> list[Any]:
    return [json.loads(line) for line in (EXAMPLES / example / file).read_text("utf-8").splitlines()]


def write_lines(path: Path, found: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in found))


# ---- complex-events

PLANTED = json.loads((EXAMPLES / "complex-events" / "planted.json").read_text())


def judge_events(folder: Path, events: list[Any]) -> Checked:
    told = [dict(zip(("pattern", "who", "at", "count"), one, strict=True)) for one in events]
    return feed_check(
        "complex-events", folder, topics={"records": rows("complex-events", "records.jsonl"), "events": told}
    )


def test_what_was_planted_is_what_is_right(tmp_path: Path) -> None:
    judged = judge_events(tmp_path, PLANTED)
    assert judged.mismatches == 0, judged.output
    assert judged.compared == len(PLANTED) + 1
    assert {pattern for pattern, *_ in PLANTED} == {"takeover", "cut", "retries", "crowd"}


@pytest.mark.parametrize(
    "events",
    [
        PLANTED[1:],
        [*PLANTED, PLANTED[0]],
        [*PLANTED, ["takeover", "slow", "08:06:01", 0]],
        [*PLANTED, ["retries", "lucky", "08:08:20", 2]],
        [*PLANTED, ["cut", "long", "08:06:40", 124]],
        [],
    ],
    ids=["missing", "twice", "too late a call", "a success between", "released in time", "nothing"],
)
def test_wrong_events_are_found(tmp_path: Path, events: list[Any]) -> None:
    assert judge_events(tmp_path, events).mismatches


# ---- lambda-architecture

VIEWS = [{"page": "home" if number % 3 else "news"} for number in range(120)]


def speed_of(views: list[Any]) -> list[Any]:
    counts = Counter((one["page"], number // 50) for number, one in enumerate(views))
    return [{"page": page, "slice": part, "count": count} for (page, part), count in counts.items()]


def batch_of(views: list[Any], slices: int) -> list[Any]:
    counts = Counter(one["page"] for one in views[: slices * 50])
    return [{"page": page, "count": count, "slices": slices} for page, count in counts.items()]


def judge_answers(folder: Path, *, batch: list[Any], speed: list[Any], answer: dict[str, Any]) -> int | None:
    write_lines(
        folder / "work" / "logs" / "output" / "answers.jsonl", [{"covered": 0, "batch": {}, "speed": {}}, answer]
    )
    topics = {"views": VIEWS, "batch": batch, "speed": speed}
    return feed_check("lambda-architecture", folder, topics=topics).mismatches


ANSWER = {
    "covered": 2,
    "batch": {row["page"]: row["count"] for row in batch_of(VIEWS, 2)},
    "speed": dict(Counter(one["page"] for one in VIEWS[100:])),
}


def test_layers_that_agree_and_meet_at_the_seam_are_right(tmp_path: Path) -> None:
    batch = [*batch_of(VIEWS, 1), *batch_of(VIEWS, 2)]
    assert judge_answers(tmp_path, batch=batch, speed=speed_of(VIEWS), answer=ANSWER) == 0


def test_a_seam_that_is_counted_twice_or_never_is_wrong(tmp_path: Path) -> None:
    batch, speed = batch_of(VIEWS, 2), speed_of(VIEWS)
    twice = ANSWER | {"speed": dict(Counter(one["page"] for one in VIEWS[50:]))}
    never = ANSWER | {"speed": {}}
    for answer in (twice, never):
        assert judge_answers(tmp_path, batch=batch, speed=speed, answer=answer)


def test_layers_that_differ_are_wrong_even_if_the_answer_is_right(tmp_path: Path) -> None:
    less = [one | {"count": one["count"] - 1} if one["slice"] == 0 else one for one in speed_of(VIEWS)]
    assert judge_answers(tmp_path, batch=batch_of(VIEWS, 2), speed=less, answer=ANSWER)


# ---- imperfect-streams

MEASURED = rows("imperfect-streams", "measurements.jsonl")


def judge_windows(folder: Path, watermark: str, sent: list[Any], count_of: Any) -> Checked:
    (folder / "experiment.yaml").write_text(f"engines: [{{env: {{WATERMARK: {watermark}}}}}]\n")
    starts = sorted({one["at"][11:17] + f"{int(one['at'][17:19]) // 2 * 2:02}" for one in sent})
    messages = [{"message": {"value": json.dumps(one), "time_ms": 1_000_000 + 50 * one["id"]}} for one in sent]
    told = [
        {
            "message": {
                "value": json.dumps({"start": start, "count": count_of(start)}),
                "time_ms": 1_014_000 + 2000 * at,
            }
        }
        for at, start in enumerate(starts)
    ]
    return feed_check("imperfect-streams", folder, topics={"measurements": messages, "windows": told})


def in_window(sent: list[Any], start: str) -> int:
    seconds = int(start[6:])
    return len(
        {
            one["id"]
            for one in sent
            if one["at"][11:17] == start[:6] and seconds <= float(one["at"][17:]) < seconds + 2
        }
    )


def test_each_measurement_that_came_counted_once_is_right_and_the_error_is_what_is_missing(tmp_path: Path) -> None:
    came = [one for one in MEASURED if one["id"] % 20]
    doubled = [*came, *came[:7]]
    judged = judge_windows(tmp_path, "10 s", doubled, lambda start: in_window(came, start))
    assert judged.mismatches == 0, judged.output
    assert '"error": 0.05' in judged.output
    assert '"missing": 0.05' in judged.output
    assert '"delay_s": 12.0' in judged.output


@pytest.mark.parametrize(
    ("watermark", "off", "is_right"), [("10 s", -1, False), ("10 s", 1, False), ("0 s", -1, True), ("0 s", 1, False)]
)
def test_a_short_watermark_may_count_less_and_none_may_count_more(
    tmp_path: Path, watermark: str, off: int, is_right: bool
) -> None:
    judged = judge_windows(tmp_path, watermark, MEASURED, lambda start: in_window(MEASURED, start) + off)
    assert (judged.mismatches == 0) == is_right, judged.output


# ---- socket-word-count

LINES = ["stream table", "table", "late table"]


def judge_words(folder: Path, counts: list[Any], totals: list[Any]) -> int | None:
    write_lines(folder / "work" / "nc" / "lines.txt", [*LINES])
    write_lines(folder / "work" / "stateless" / "counts.jsonl", counts)
    write_lines(folder / "work" / "stateful" / "totals.jsonl", totals)
    return feed_check("socket-word-count", folder).mismatches


COUNTS = [
    {"word": "stream", "count": 1},
    {"word": "table", "count": 2},
    {"word": "table", "count": 1},
    {"word": "late", "count": 1},
]
TOTALS = [
    {"word": "stream", "total": 1},
    {"word": "table", "total": 2},
    {"word": "table", "total": 3},
    {"word": "late", "total": 1},
]


def test_words_of_batches_add_up_and_the_last_total_counts(tmp_path: Path) -> None:
    assert judge_words(tmp_path, COUNTS, TOTALS) == 0
    assert judge_words(tmp_path, COUNTS[1:], TOTALS)
    assert judge_words(tmp_path, COUNTS, TOTALS[:-1])
    assert judge_words(tmp_path, COUNTS, [*TOTALS, {"word": "table", "total": 1}])


def test_what_the_shipped_programs_print_is_read_from_their_logs(tmp_path: Path) -> None:
    write_lines(tmp_path / "work" / "nc" / "lines.txt", [*LINES])
    logs = {
        "h2.network.log": ["Time: 2026", "('table', 2)", "('stream', 1)", "('table', 1)", "('late', 1)"],
        "h3.stateful-network.log": [
            "('hello', 1)",
            "('world', 1)",
            "('table', 2)",
            "('table', 3)",
            "('late', 1)",
            "('stream', 1)",
        ],
        "h4.structured.log": [
            "Batch: 1",
            "|  word|count|",
            "| table|    2|",
            "| table|    3|",
            "|stream|    1|",
            "|  late|    1|",
        ],
    }
    for name, text in logs.items():
        write_lines(tmp_path / "logs" / name, [*text])
    assert feed_check("socket-word-count", tmp_path, app="check_shipped.py").mismatches == 0
    write_lines(tmp_path / "logs" / "h2.network.log", ["('table', 1)"])
    assert feed_check("socket-word-count", tmp_path, app="check_shipped.py").mismatches == 3
