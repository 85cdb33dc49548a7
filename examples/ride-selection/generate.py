"""Makes rides.jsonl and fares.jsonl: 300 rides in 20 minutes of event time, the same ones for the same seed.

Events are out of order by up to a minute. Six fares of area "late" come a quarter of an hour too late, and the last
event of each file is far in the future, so that every window before it closes.
"""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 1, 8, 0)
AREAS = ("harbour", "station", "airport", "market")


def iso(seconds: float) -> str:
    return (START + timedelta(seconds=round(seconds))).isoformat()


def main() -> None:
    chance = random.Random(11)
    rides, fares = [], []
    for number in range(300):
        at = number * 4.0
        area = chance.choice(AREAS)
        fare_at = at + chance.uniform(60, 240)
        rides.append((at + chance.uniform(0, 60), {"ride": number, "area": area, "started": iso(at)}))
        fare = {"ride": number, "tip_cents": chance.randint(0, 900), "paid": iso(fare_at)}
        fares.append((fare_at + chance.uniform(0, 60), fare))
    for number in range(300, 306):
        at = (number - 300) * 30.0
        rides.append((at, {"ride": number, "area": "late", "started": iso(at)}))
        fares.append((at + 15 * 60, {"ride": number, "tip_cents": 100, "paid": iso(at + 60)}))
    rides.append((1e9, {"ride": -1, "area": "close", "started": iso(7200)}))
    fares.append((1e9, {"ride": -2, "tip_cents": 0, "paid": iso(7200)}))
    for name, events in (("rides", rides), ("fares", fares)):
        in_order = [event for _, event in sorted(events, key=lambda pair: pair[0])]
        text = "".join(json.dumps(event) + "\n" for event in in_order)
        (Path(__file__).parent / f"{name}.jsonl").write_text(text)


if __name__ == "__main__":
    main()
