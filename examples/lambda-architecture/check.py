"""The right answer in plain Python: the views of each page that Kafka holds. Both layers agree where both did."""

import json
import os
from collections import Counter
from pathlib import Path

from stream2gym.check_api import compare, objects

SLICE = 50
pages = [view["page"] for view in objects("views")]
answers = (Path(os.environ["S2G_RUN"]) / "work" / "logs" / "output" / "answers.jsonl").read_text().splitlines()
last = json.loads(answers[-1])
merged = Counter(last["batch"]) + Counter(last["speed"])

# Every batch view against the same slices of the speed view.
speed = {(row["page"], row["slice"]): row["count"] for row in objects("speed")}
expected: dict = {("merged", page): count for page, count in Counter(pages).items()}
found: dict = {("merged", page): count for page, count in merged.items()}
for row in objects("batch"):
    key = ("both layers", row["page"], row["slices"])
    found[key] = row["count"]
    expected[key] = sum(speed.get((row["page"], part), 0) for part in range(row["slices"]))
views = {row["slices"] for row in objects("batch")}
expected |= {"some of the answer is of each layer": True}
found |= {"some of the answer is of each layer": bool(last["batch"]) and bool(last["speed"])}
print(f'S2G {{"batch_views": {len(views)}, "covered_by_batch": {last["covered"] * SLICE}, "messages": {len(pages)}}}')
compare(expected, found)
