"""Makes positions.jsonl: twenty ships that report where they are, for twelve minutes, the same for the same seed."""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 1, 12, 0)
KINDS = ("cargo", "tanker", "passenger", "fishing", "pilot")


def main() -> None:
    chance = random.Random(15)
    ships = [
        {
            "ship": 211000000 + number,
            "kind": chance.choice(KINDS),
            "lat": chance.uniform(53.0, 55.0),
            "lon": chance.uniform(7.0, 9.0),
            "knots": chance.choice((0.0, chance.uniform(4, 18))),
        }
        for number in range(20)
    ]
    lines = []
    for second in range(0, 720, 12):
        for ship in ships:
            ship["lat"] += chance.uniform(-0.01, 0.01)
            ship["lon"] += chance.uniform(-0.01, 0.01)
            knots = max(0.0, ship["knots"] + chance.uniform(-1, 1)) if ship["knots"] else 0.0
            at = START + timedelta(seconds=second + chance.randint(0, 11))
            report = {
                "ship": ship["ship"],
                "kind": ship["kind"],
                "lat": round(ship["lat"], 4),
                "lon": round(ship["lon"], 4),
                "knots": round(knots, 1),
                "at": at.isoformat(),
            }
            lines.append(json.dumps(report) + "\n")
    (Path(__file__).parent / "positions.jsonl").write_text("".join(lines))


if __name__ == "__main__":
    main()
