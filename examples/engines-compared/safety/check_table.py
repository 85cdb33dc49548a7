"""Whether every message of a topic stands in a table once: how many are missing, and how many are there too often."""

import json
from collections import Counter

from stream2gym.check_api import compare, table, values

expected, found = Counter(values("in")), Counter(row["message"] for row in table("db", "copies"))
numbers = {"messages": expected.total(), "lost": (expected - found).total(), "twice": (found - expected).total()}
print(f"S2G {json.dumps(numbers)}")
compare(dict(expected), dict(found))
