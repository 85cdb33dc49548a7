"""The announced coefficients applied in plain Python: to what the trainer held out, and to every payment in Kafka.

Precision and recall are stated twice: on the training file's held-out rows, where they must be what the trainer
said, and on the stream, whose complaints came in a topic of their own.
"""

import csv
import json
from collections import Counter
from math import exp, log1p
from pathlib import Path

from stream2gym.check_api import compare, objects

(model,) = objects("models")


def probability(row: dict) -> float:
    values = {
        "size": log1p(float(row["amount"])),
        "distance": log1p(float(row["distance_km"])),
        "pause": log1p(float(row["gap_minutes"])),
        "night": float(row["night"]),
        "abroad": float(row["abroad"]),
    }
    weighed = sum(weight * values[name] for name, weight in model["coefficients"].items())
    return 1 / (1 + exp(-weighed - model["intercept"]))


def quality(alarms: set, frauds: set) -> dict[str, float]:
    hits = len(alarms & frauds)
    return {"precision": hits / max(1, len(alarms)), "recall": hits / max(1, len(frauds))}


with (Path(__file__).parent / "training.csv").open() as file:
    held_out = {row["row"]: row for row in csv.DictReader(file) if int(row["row"]) % 4 == 0}
trained = quality(
    {number for number, row in held_out.items() if probability(row) > 0.5},
    {number for number, row in held_out.items() if row["fraud"] == "1"},
)
expected: dict[object, object] = {("held out", what): round(share, 9) for what, share in trained.items()}
found: dict[object, object] = {("held out", what): round(model[what], 9) for what in trained}

right = {row["payment"]: probability(row) for row in objects("payments")}
scores = objects("scores")
times = Counter(row["payment"] for row in scores)
for payment, share in right.items():
    expected[payment] = (1, share > 0.5, "as calculated")
for row in scores:
    payment, share = row["payment"], row["probability"]
    close = abs(share - right.get(payment, -1.0)) < 1e-9
    found[payment] = (times[payment], row["fraud"], "as calculated" if close else share)

live = quality({row["payment"] for row in scores if row["fraud"]}, {row["payment"] for row in objects("complaints")})
print(f"S2G {json.dumps(live)}")
compare(expected, found)
