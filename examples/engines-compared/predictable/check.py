"""How many windows differ from those of the input in order, however often and however the measurements were read.

Its argument is the number of readings, each of which has a topic of its own with results. Judged are the windows that
the watermark closes before the measurements end. A window that is told twice differs, too, unless both counts are the
right one.
"""

import json
import sys
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
counts = {f"{start:%H:%M:%S}": [count] for start, count in Counter(starts).items() if start in judged}
readings = range(1, 1 + int(sys.argv[1]))
expected = {(reading, name): count for reading in readings for name, count in counts.items()}
told: dict[tuple[int, str], set[int]] = {}
for reading in readings:
    for row in objects(f"windows-{reading}"):
        told.setdefault((reading, row["start"]), set()).add(row["count"])
found = {place: sorted(told[place]) for place in expected if place in told}
differing = {name for (reading, name), count in expected.items() if found.get((reading, name)) != count}
print(f"S2G {json.dumps({'differing': len(differing), 'judged': len(counts)})}")
compare(expected, found)
