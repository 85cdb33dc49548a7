"""Writes measurements.jsonl: thirty seconds of a sensor network, twenty measurements a second."""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

RATE, SECONDS = 20, 30
BEGIN = datetime(2026, 3, 1, 8)
rng = random.Random(11)
rows = []
for number in range(RATE * SECONDS):
    at = BEGIN + timedelta(seconds=number / RATE)
    row = {"id": number, "sensor": f"s{number % 5}", "celsius": round(20 + 3 * rng.random(), 2)}
    rows.append(row | {"at": at.isoformat(timespec="milliseconds")})
(Path(__file__).parent / "measurements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
