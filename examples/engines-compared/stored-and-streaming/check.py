"""Which orders got a price, and whether it was the one at their time, by the time stamps of Kafka.

Judged are orders that were sent when every product had had a price for a second, but those of the last second: a join
that goes by time may still wait for what comes after them.
"""

import json

from stream2gym.check_api import compare, objects, topic

SETTLED_MS, OPEN_MS = 1000, 1000

prices: dict[str, list[tuple[int, int]]] = {}
for message in topic("prices"):
    prices.setdefault(message["key"], []).append((message["time_ms"], json.loads(message["value"])["price"]))
orders = {json.loads(message["value"])["id"]: message for message in topic("orders")}
begin_ms = max(min(changes)[0] for changes in prices.values()) + SETTLED_MS
end_ms = max(message["time_ms"] for message in orders.values()) - OPEN_MS

expected = {}
for number, message in orders.items():
    if begin_ms <= message["time_ms"] <= end_ms:
        product = json.loads(message["value"])["product"]
        expected[number] = max(change for change in prices[product] if change[0] <= message["time_ms"])[1]
found = {row["id"]: row["price"] for row in objects("enriched") if row["id"] in expected}
missing = sum(number not in found for number in expected)
other = sum(found[number] != expected[number] for number in found)
if expected:
    # In per cent.
    said = {"missing": round(100 * missing / len(expected), 2), "other": round(100 * other / max(1, len(found)), 2)}
    print(f"S2G {json.dumps(said)}")
compare(expected, found)
