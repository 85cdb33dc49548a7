"""Makes training.csv, payments.jsonl and complaints.jsonl: the same ones for the same seed.

One payment in twelve is fraud: more often a large sum, far from home, abroad, at night, soon after the last payment.
The two kinds overlap, so that nobody can tell every one. What is sent as a payment does not say which it is: that
comes with the complaints.
"""

import json
import random
from pathlib import Path

HERE = Path(__file__).parent
COLUMNS = ("amount", "distance_km", "gap_minutes", "night", "abroad")


def payment(chance: random.Random, fraud: bool) -> dict[str, float]:
    values = (
        chance.lognormvariate(4.8 if fraud else 3.2, 0.9),
        chance.expovariate(1 / (120 if fraud else 8)),
        chance.expovariate(1 / (20 if fraud else 600)),
        chance.random() < (0.5 if fraud else 0.1),
        chance.random() < (0.45 if fraud else 0.04),
    )
    return {name: round(float(value), 2) for name, value in zip(COLUMNS, values, strict=True)}


def main() -> None:
    chance = random.Random(23)
    rows = [(payment(chance, fraud), fraud) for fraud in (chance.random() < 1 / 12 for _ in range(2400))]
    lines = [",".join(("row", *COLUMNS, "fraud"))]
    lines += [
        ",".join(f"{value:g}" for value in (number, *row.values(), fraud)) for number, (row, fraud) in enumerate(rows)
    ]
    (HERE / "training.csv").write_text("\n".join(lines) + "\n")

    payments, complaints = [], []
    for number in range(600):
        fraud = chance.random() < 1 / 12
        payments.append({"payment": number, **payment(chance, fraud)})
        if fraud:
            complaints.append({"payment": number})
    for name, events in (("payments", payments), ("complaints", complaints)):
        text = "".join(json.dumps(event) + "\n" for event in events)
        (HERE / f"{name}.jsonl").write_text(text)


if __name__ == "__main__":
    main()
