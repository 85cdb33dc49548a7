"""The rules in plain Python over the log as Kafka holds it; they find exactly what was planted, and so must Spark.

An event that came more than a minute late may or may not have counted, depending on how batches fell: whom such an
event is about is left out.
"""

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from stream2gym.checking import compare, objects

MINUTE = timedelta(minutes=1)
events = [event | {"at": datetime.fromisoformat(event["at"])} for event in objects("log")]
logins = [event for event in events if event["kind"] == "login" and event["source"] != "clock"]

unsure, latest = set(), datetime.min
for event in events:
    if latest > datetime.min + MINUTE and event["at"] <= latest - MINUTE:
        unsure |= {event["source"], event["user"]} - {""}
    latest = max(latest, event["at"])

alarms: dict[tuple[str, str, str, str], int] = {}


def alarm(rule: str, source: str, what: str, at: datetime, count: int) -> None:
    if not {source, what} & unsure:
        alarms[rule, source, what, at.strftime("%H:%M:%S")] = count


ports: dict[tuple[str, str, datetime], set[int]] = {}
for event in events:
    if event["kind"] == "connect":
        start = event["at"].replace(second=event["at"].second // 30 * 30, microsecond=0)
        for window in (start, start - MINUTE / 2):
            ports.setdefault((event["source"], event["target"], window), set()).add(event["port"])
for (source, target, window), tried in ports.items():
    if len(tried) >= 20:
        alarm("scan", source, target, window, len(tried))

for login in (event for event in logins if event["ok"]):
    source, user, at = login["source"], login["user"], login["at"]
    failures = [
        other["at"]
        for other in logins
        if (other["source"], other["user"], other["ok"]) == (source, user, False)
    ]
    recent = sum(at - 2 * MINUTE <= failed < at for failed in failures)
    if recent >= 5:
        alarm("guess", source, user, at, recent)
    sessions = [event["at"] for event in events if event["kind"] == "vpn" and event["user"] == user]
    if not source.startswith("10.") and not any(at - 10 * MINUTE <= opened <= at for opened in sessions):
        alarm("bare", source, user, at, 0)

said = objects("alarms")
times = Counter((row["rule"], row["source"], row["what"], row["at"]) for row in said)
expected: dict[object, object] = {key: (1, number) for key, number in alarms.items()}
found: dict[object, object] = {
    (row["rule"], row["source"], row["what"], row["at"]): (
        times[row["rule"], row["source"], row["what"], row["at"]],
        row["count"],
    )
    for row in said
    if not {row["source"], row["what"]} & unsure
}
planted = {tuple(attack) for attack in json.loads((Path(__file__).parent / "planted.json").read_text())}
expected["planted attacks that were found"] = len(planted)
found["planted attacks that were found"] = len(planted & {key[:3] for key in found if isinstance(key, tuple)})
expected["attacks that nobody planted"] = []
found["attacks that nobody planted"] = sorted({key[:3] for key in found if isinstance(key, tuple)} - planted)
print(f'S2G {{"attacks": {len(planted)}, "too_late": {len(unsure)}}}')
compare(expected, found)
