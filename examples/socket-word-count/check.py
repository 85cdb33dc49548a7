"""The right answer in plain Python: the words of all lines that were sent, counted."""

import json
import os
from collections import Counter
from pathlib import Path

from stream2gym.check_api import compare, lines

WORK = Path(os.environ["S2G_RUN"]) / "work"


def rows(job: str, file: str) -> list[dict]:
    return [json.loads(line) for line in (WORK / job / file).read_text().splitlines()]


words = Counter(word for line in lines("nc") for word in line.split(" "))
# Without state, the counts of all batches together are right. With it, the last total of each word is.
summed: Counter[str] = Counter()
for row in rows("stateless", "counts.jsonl"):
    summed[row["word"]] += row["count"]
last = {row["word"]: row["total"] for row in rows("stateful", "totals.jsonl")}
expected = {(job, word): count for job in ("stateless", "stateful") for word, count in words.items()}
found = {("stateless", word): count for word, count in summed.items()}
found |= {("stateful", word): count for word, count in last.items()}
compare(expected, found)
