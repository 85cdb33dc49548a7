"""The patterns in plain Python over the records that Kafka holds: they find what was planted, and so must Spark."""

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from stream2gym.check_api import compare, objects

MINUTE = timedelta(minutes=1)
Event = tuple[str, str, str, int]  # pattern, who, time, count


def event(pattern: str, who: str, at: datetime, count: int) -> Event:
    return pattern, who, at.strftime("%H:%M:%S"), count


def takeovers() -> list[Event]:
    return [
        event("takeover", swap["who"], call["at"], 0)
        for swap in of("swap")
        for call in of("premium")
        if swap["who"] == call["who"] and timedelta(0) < call["at"] - swap["at"] <= 5 * MINUTE
    ]


def cuts() -> list[Event]:
    released = {one["call"]: one["at"] for one in of("release")}
    never = datetime.max
    calls = [one for one in of("setup") if released.get(one["call"], never) - 2 * MINUTE > one["at"]]
    return [event("cut", one["who"], one["at"], one["call"]) for one in calls]


def retries() -> list[Event]:
    found = []
    for who in {one["who"] for one in of("attempt")}:
        failed: list[datetime] = []
        last = None
        for one in sorted((one for one in of("attempt") if one["who"] == who), key=lambda one: one["at"]):
            if last is not None and one["at"] - last >= MINUTE / 3:
                failed = []
            last = one["at"]
            if not one["ok"]:
                failed.append(one["at"])
                continue
            if len(failed) >= 3:
                found.append(event("retries", who, failed[0], len(failed)))
            failed = []
    return found


def crowds() -> list[Event]:
    counts: Counter[tuple[str, datetime]] = Counter()
    for one in of("handover"):
        start = one["at"].replace(second=one["at"].second // 30 * 30, microsecond=0)
        counts[one["cell"], start] += 1
        counts[one["cell"], start - MINUTE / 2] += 1
    return [event("crowd", cell, start, count) for (cell, start), count in counts.items() if count >= 15]


records = [one | {"at": datetime.fromisoformat(one["at"])} for one in objects("records") if one["who"] != "clock"]


def of(kind: str) -> list[dict]:
    return [one for one in records if one["kind"] == kind]


right = Counter([*takeovers(), *cuts(), *retries(), *crowds()])
said = Counter((row["pattern"], row["who"], row["at"], row["count"]) for row in objects("events"))
planted = sorted(tuple(one) for one in json.loads((Path(__file__).parent / "planted.json").read_text()))
print(f'S2G {{"planted": {len(planted)}, "found": {len(said)}}}')
compare(dict(right) | {"what was planted": planted}, dict(said) | {"what was planted": sorted(right)})
