"""How many windows differ from those of the input in order, however the measurements arrived.

Judged are the windows that the watermark closes before the measurements end. A window that is told twice differs,
too, unless both counts are the right one: a program that begins anew repeats itself.
"""

import json
from collections import Counter
from datetime import datetime
from pathlib import Path

from stream2gym.check_api import compare, objects

# The size of a window, what the watermark waits, and one second more.
OPEN_S = 5.0

file = Path(__file__).parents[2] / "imperfect-streams" / "measurements.jsonl"
moments = [datetime.fromisoformat(json.loads(line)["at"]) for line in file.read_text("utf-8").splitlines()]
starts = [at.replace(second=at.second // 2 * 2, microsecond=0) for at in moments]
judged = {start for start in starts if (max(moments) - start).total_seconds() > OPEN_S}
expected = {f"{start:%H:%M:%S}": [count] for start, count in Counter(starts).items() if start in judged}
told: dict[str, set[int]] = {}
for row in objects("windows"):
    told.setdefault(row["start"], set()).add(row["count"])
found = {name: sorted(told[name]) for name in expected if name in told}
differing = sum(found.get(name) != counts for name, counts in expected.items())
print(f"S2G {json.dumps({'differing': differing, 'judged': len(expected)})}")
compare(expected, found)
