"""Writes records.jsonl and planted.json: a telephone network for a quarter of an hour, with known patterns."""

import itertools
import json
import random
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
BEGIN = datetime(2026, 3, 1, 8)
rng = random.Random(16)
records: list[tuple[float, dict]] = []
planted: list[list] = []
numbers = itertools.count(1)


def add(second: float, kind: str, who: str, **more: object) -> None:
    records.append((second, {"kind": kind, "who": who, **more}))


def call(second: float, who: str, *, released_after: float | None = 40.0) -> int:
    """A call that is set up, and released after some seconds, or never."""
    number = next(numbers)
    add(second, "setup", who, call=number)
    if released_after is not None:
        add(second + released_after, "release", who, call=number)
    return number


def when(second: float) -> str:
    return (BEGIN + timedelta(seconds=second)).strftime("%H:%M:%S")


# Everyday traffic.
for _ in range(120):
    call(rng.uniform(0, 780), f"sub{rng.randrange(40)}", released_after=rng.uniform(5, 110))
for _ in range(60):
    add(rng.uniform(0, 780), "handover", f"sub{rng.randrange(40)}", cell=f"cell{rng.randrange(8)}")
for number in range(40):
    at = 20 * number + rng.uniform(0, 3)
    for failure in range(rng.choice([0, 0, 1, 2])):
        add(at + failure, "attempt", f"day{number}", ok=False)
    add(at + 4, "attempt", f"day{number}", ok=True)
for number in range(6):
    add(100 * number + 10, "swap", f"calm{number}")
    add(100 * number + 45, "premium", f"other{number}")

# Sequence: a SIM card is swapped, and a premium number is called within five minutes.
for number, (swapped, after) in enumerate([(30, 20), (200, 299), (420, 1)]):
    add(swapped, "swap", f"victim{number}")
    add(swapped + after, "premium", f"victim{number}")
    planted.append(["takeover", f"victim{number}", when(swapped + after), 0])
add(60, "swap", "slow")  # near misses: too late, and in the wrong order
add(60 + 301, "premium", "slow")
add(500, "premium", "before")
add(503, "swap", "before")

# Negation: a call is set up and not released within two minutes.
for number, second in enumerate([50, 333, 610]):
    lost = call(second, f"cut{number}", released_after=None if number else 180.0)
    planted.append(["cut", f"cut{number}", when(second), lost])
call(400, "long", released_after=119.0)  # a near miss

# Kleene closure: three or more failed attempts in a row, and then a success, never more than 20 s apart.
for number, (second, failures) in enumerate([(100, 3), (350, 9), (640, 5)]):
    for failure in range(failures):
        add(second + 3 * failure, "attempt", f"retry{number}", ok=False)
    add(second + 3 * failures, "attempt", f"retry{number}", ok=True)
    planted.append(["retries", f"retry{number}", when(second), failures])
for failure in range(6):  # near misses: no success, a pause that is too long, a success in between
    add(200 + 2 * failure, "attempt", "hopeless", ok=False)
for second, ok in ((300, False), (303, False), (340, False), (343, True)):
    add(second, "attempt", "patient", ok=ok)
for second, ok in ((500, False), (503, False), (506, True), (509, False), (512, True)):
    add(second, "attempt", "lucky", ok=ok)

# Window: fifteen handovers or more into one cell within a minute. The windows slide by half a minute.
for moment in range(18):
    add(540 + moment, "handover", f"fan{moment}", cell="stadium")
planted += [["crowd", "stadium", when(510), 18], ["crowd", "stadium", when(540), 18]]
for moment in range(14):
    add(300 + moment, "handover", f"bus{moment}", cell="station")

# Out of order by up to 40 seconds. At the end, records of every kind that let event time go on and match no pattern.
arrivals = sorted((second + rng.uniform(0, 40), second, record) for second, record in records)
out = [
    record | {"at": (BEGIN + timedelta(seconds=second)).isoformat(timespec="milliseconds")}
    for _, second, record in arrivals
]
for minute in (30, 60):
    for kind in ("setup", "release", "handover", "attempt", "swap", "premium"):
        at = BEGIN + timedelta(minutes=minute)
        out.append({"kind": kind, "who": "clock", "call": -minute, "cell": "clock", "ok": True, "at": at.isoformat()})
(HERE / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in out))
(HERE / "planted.json").write_text(json.dumps(planted, indent=1) + "\n")
