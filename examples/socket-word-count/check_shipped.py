"""What the programs that come with Spark printed: their logs against the lines that were sent."""

import os
import re
from collections import Counter
from pathlib import Path

from stream2gym.check_api import compare, lines

LOGS = Path(os.environ["S2G_RUN"]) / "logs"
PAIR = re.compile(r"^\('([^']+)', (\d+)\)$", re.MULTILINE)  # as DStreams print it
CELL = re.compile(r"^\|\s*(\w+)\|\s*(\d+)\|$", re.MULTILINE)  # as the console sink does


def printed(log: str) -> str:
    return (LOGS / log).read_text("utf-8", errors="replace")


words = Counter(word for line in lines("nc") for word in line.split(" "))
summed: Counter[str] = Counter()
for word, count in PAIR.findall(printed("h2.network.log")):
    summed[word] += int(count)
# A running count is printed again in every batch, and the last one is right. This program begins with two words.
running = {word: int(count) for word, count in PAIR.findall(printed("h3.stateful-network.log"))}
table = {word: int(count) for word, count in CELL.findall(printed("h4.structured.log"))}
expected = {
    "network": dict(words),
    "stateful-network": dict(words + Counter(hello=1, world=1)),
    "structured": dict(words),
}
found = {"network": dict(summed), "stateful-network": running, "structured": table}
compare(
    {(job, word): count for job, counts in expected.items() for word, count in counts.items()},
    {(job, word): count for job, counts in found.items() for word, count in counts.items()},
)
