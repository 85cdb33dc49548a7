"""Writes orders.jsonl and prices.jsonl: ten seconds of orders at twenty a second, and prices one after the other."""

import json
import random
from pathlib import Path

HERE = Path(__file__).parent
rng = random.Random(15)
orders = [{"id": number, "product": f"p{rng.randint(1, 3)}"} for number in range(200)]
prices = [{"price": 100 + number} for number in range(60)]
for name, rows in (("orders", orders), ("prices", prices)):
    (HERE / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
