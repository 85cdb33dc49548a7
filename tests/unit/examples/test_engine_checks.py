"""The checks of the engines compared, fed by hand: how many windows differ, which prices orders got."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from stream2gym.clients.config import Imperfect
from stream2gym.clients.imperfect_source import imperfectly
from stream2gym.clients.load_schedule import Event
from stream2gym.sweeps.load_sweep import load_sweep
from tests.support.examples import EXAMPLES, Checked, feed_check

MEASURED = [
    json.loads(line)
    for line in (EXAMPLES / "imperfect-streams" / "measurements.jsonl").read_text("utf-8").splitlines()
]


def start_of(at: str) -> str:
    return f"{at[11:17]}{int(at[17:19]) // 2 * 2:02}"


RIGHT = Counter(start_of(one["at"]) for one in MEASURED)


def judge_windows(folder: Path, *readings: list[tuple[str, int]]) -> Checked:
    topics = {
        f"windows-{number}": [{"start": start, "count": count} for start, count in told]
        for number, told in enumerate(readings, 1)
    }
    return feed_check("engines-compared/predictable", folder, topics=topics, args=[str(len(readings))])


def test_windows_that_are_right_do_not_differ_also_when_they_are_told_again(tmp_path: Path) -> None:
    judged = judge_windows(tmp_path, [*RIGHT.items(), *RIGHT.items()])
    assert judged.mismatches == 0, judged.output
    assert '{"differing": 0, "judged": 13}' in judged.output


def test_windows_that_are_missing_wrong_or_told_in_two_ways_differ(tmp_path: Path) -> None:
    (first, count), (second, _), *others = RIGHT.items()
    judged = judge_windows(tmp_path, [(first, count), (first, count - 1), *others])
    assert '"differing": 2' in judged.output
    assert judged.mismatches == 2
    assert second in judged.output


def test_a_second_reading_is_held_against_the_same_windows(tmp_path: Path) -> None:
    (first, count), *others = RIGHT.items()
    right = list(RIGHT.items())
    assert '{"differing": 0, "judged": 13}' in judge_windows(tmp_path, right, right).output
    assert '"differing": 1' in judge_windows(tmp_path, right, [(first, count + 1), *others]).output
    assert '"differing": 13' in judge_windows(tmp_path, right, []).output


def test_no_measurement_arrives_later_than_the_watermark_waits() -> None:
    """The orders of the sweep, with many seeds: what an engine drops would be its own doing."""
    file = load_sweep(EXAMPLES / "engines-compared" / "predictable" / "sweep.yaml").file
    experiment = (EXAMPLES / "engines-compared" / "predictable" / "experiment.yaml").read_text("utf-8")
    by = int(experiment.partition("disordered_by: ")[2].partition("}")[0])
    assert all("WATERMARK: 2, " in str(program) for program in file.axes["program"].list_values())
    for share in {str(value).removesuffix(" %") for value in file.axes["disordered"].list_values()}:
        shares = Imperfect(disordered=int(share) / 100, disordered_by=by)
        for seed in range(50):
            events = [Event(number, "measurements", None, b"", 0) for number in range(len(MEASURED))]
            latest = 0
            for emission in imperfectly(events, shares, Random(seed)):
                latest = max(latest, emission.number)
                assert (latest - emission.number) / 20 < 2.0, (share, seed)


def test_windows_that_the_watermark_does_not_close_are_not_judged(tmp_path: Path) -> None:
    assert judge_windows(tmp_path, list(RIGHT.items())[:-2]).mismatches == 0


# ---- stored-and-streaming


def message(value: Any, time_ms: int, key: str | None = None) -> dict[str, Any]:
    return {"message": {"value": json.dumps(value), "time_ms": time_ms, "key": key}}


PRICES = [message({"price": 100 + at}, 1000 + 500 * at, "p1") for at in range(10)]
ORDERS = [message({"id": number, "product": "p1"}, 1050 + 100 * number) for number in range(40)]


def price_at(time_ms: int) -> int:
    return 100 + (time_ms - 1000) // 500


def judge_prices(folder: Path, results: list[dict[str, Any]]) -> Checked:
    topics = {"prices": PRICES, "orders": ORDERS, "enriched": results}
    return feed_check("engines-compared/stored-and-streaming", folder, topics=topics)


def enriched(late_ms: int = 0) -> list[dict[str, Any]]:
    return [{"id": n, "product": "p1", "price": price_at(1050 + 100 * n + late_ms)} for n in range(40)]


def test_prices_of_the_time_of_the_order_are_right(tmp_path: Path) -> None:
    judged = judge_prices(tmp_path, enriched())
    assert judged.mismatches == 0, judged.output
    # Orders from a second after the first price to a second before the last order.
    assert judged.compared == 20
    assert '{"missing": 0.0, "other": 0.0}' in judged.output


def test_later_prices_and_missing_results_are_counted(tmp_path: Path) -> None:
    assert '{"missing": 0.0, "other": 40.0}' in judge_prices(tmp_path, enriched(late_ms=200)).output
    assert '{"missing": 50.0, "other": 0.0}' in judge_prices(tmp_path, enriched()[::2]).output
    assert judge_prices(tmp_path, []).mismatches == 20
