"""Windows of two seconds against the truth: what happened, what of it came, and what was counted of that.

A watermark that waits longer than measurements are late counts all that came, each once. A shorter one may count
less, and never more. Judged are the windows that every watermark of the sweep closes before the measurements end.
"""

import json
import os
from collections import Counter
from datetime import datetime
from pathlib import Path

import yaml

from stream2gym.check_api import compare, objects, topic

LATE_S, SLACK_S, LONGEST_S = 8.0, 1.0, 10.0


def window_of(at: str) -> datetime:
    moment = datetime.fromisoformat(at)
    return moment.replace(second=moment.second // 2 * 2, microsecond=0)


def name(window: datetime) -> str:
    return window.strftime("%H:%M:%S")


experiment = yaml.safe_load((Path(os.environ["S2G_RUN"]) / "experiment.yaml").read_text())
watermark_s = float(experiment["engines"][0]["env"]["WATERMARK"].removesuffix("s"))
here = Path(__file__).parent / "measurements.jsonl"
happened = {one["id"]: one["at"] for one in map(json.loads, here.read_text().splitlines())}
arrived = {one["id"] for one in objects("measurements")}
end = datetime.fromisoformat(max(happened[number] for number in arrived))
judged = {
    window for at in happened.values() if (end - (window := window_of(at))).total_seconds() > 2 + LONGEST_S + SLACK_S
}
came = Counter(window_of(happened[number]) for number in arrived)
truth = Counter(window_of(at) for at in happened.values())
told: dict[str, list[int]] = {}
for row in objects("windows"):
    told.setdefault(row["start"], []).append(row["count"])

expected: dict = {}
found: dict = {}
for window in sorted(judged):
    counts = told.get(name(window), [])
    if watermark_s > LATE_S + SLACK_S:
        expected[name(window)], found[name(window)] = [came[window]], counts
    else:
        expected[name(window)] = "one count, of what came at most"
        is_right = len(counts) == 1 and counts[0] <= came[window]
        found[name(window)] = expected[name(window)] if is_right else counts

# How wrong the counts are, and how long after the end of a window its count came. Measurements that were not late
# tell which moment of the run is which moment of the data.
wrong = sum(abs(truth[window] - sum(told.get(name(window), []))) for window in judged)
shift_ms = min(
    message["time_ms"] - datetime.fromisoformat(json.loads(message["value"])["at"]).timestamp() * 1e3
    for message in topic("measurements")
)
ends = {name(window): (window.timestamp() + 2) * 1e3 + shift_ms for window in judged}
delays = [
    (message["time_ms"] - ends[start]) / 1e3
    for message in topic("windows")
    if (start := json.loads(message["value"])["start"]) in ends
]
error = wrong / sum(truth[window] for window in judged)
missing = 1 - sum(came[window] for window in judged) / sum(truth[window] for window in judged)
said = {"error": round(error, 4), "missing": round(missing, 4)}
if delays:
    said["delay_s"] = round(sum(delays) / len(delays), 3)
print(f"S2G {json.dumps(said)}")
compare(expected, found)
