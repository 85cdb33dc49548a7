"""The right answer in plain Python: one bill for each order that the shop placed, with 19 % tax."""

import json
import os
from pathlib import Path

from stream2gym.check_api import compare

WRITTEN = Path(os.environ["S2G_RUN"]) / "work" / "logs" / "output"


def rows(name):
    return [json.loads(line) for line in (WRITTEN / name).read_text().splitlines()]


expected = {order["id"]: [order["cents"] * 119 // 100] for order in rows("orders.jsonl")}
found: dict[int, list[int]] = {}
for bill in rows("bills.jsonl"):
    found.setdefault(bill["id"], []).append(bill["total"])
compare(expected, found)
