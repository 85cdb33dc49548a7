"""The rules in plain Python over the log as Kafka holds it; they find exactly what was planted, and so must Spark.

Whether an event that came more than a minute late counted depends on how batches fell: an alarm that stands or falls
with such events may be there or not.
"""

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from stream2gym.check_api import compare, objects

MINUTE = timedelta(minutes=1)
Alarm = tuple[str, str, str, str]  # rule, source, target or user, time


def in_time(events: list[dict]) -> list[dict]:
    """Those that were not more than a minute behind any event before them."""
    found, latest = [], events[0]["at"]
    for event in events:
        if event["at"] > latest - MINUTE:
            found.append(event)
        latest = max(latest, event["at"])
    return found


def alarm(rule: str, source: str, what: str, at: datetime) -> Alarm:
    return rule, source, what, at.strftime("%H:%M:%S")


def scans(events: list[dict]) -> dict[Alarm, int]:
    ports: dict[Alarm, set[int]] = {}
    for event in events:
        if event["kind"] == "connect":
            start = event["at"].replace(second=event["at"].second // 30 * 30)
            for window in (start, start - MINUTE / 2):
                key = alarm("scan", event["source"], event["target"], window)
                ports.setdefault(key, set()).add(event["port"])
    return {key: len(tried) for key, tried in ports.items() if len(tried) >= 20}


def logins(events: list[dict]) -> dict[Alarm, int]:
    found: dict[Alarm, int] = {}
    tries = [event for event in events if event["kind"] == "login" and event["source"] != "clock"]
    for login in (event for event in tries if event["ok"]):
        source, user, at = login["source"], login["user"], login["at"]
        own = [event for event in tries if (event["source"], event["user"]) == (source, user)]
        failures = sum(not event["ok"] and at - 2 * MINUTE <= event["at"] < at for event in own)
        if failures >= 5:
            found[alarm("guess", source, user, at)] = failures
        sessions = [event["at"] for event in events if event["kind"] == "vpn" and event["user"] == user]
        if not source.startswith("10.") and not any(at - 10 * MINUTE <= opened <= at for opened in sessions):
            found[alarm("bare", source, user, at)] = 0
    return found


log = [event | {"at": datetime.fromisoformat(event["at"])} for event in objects("log")]
of_all, of_some = ({**scans(events), **logins(events)} for events in (log, in_time(log)))
right = {key: count for key, count in of_all.items() if of_some.get(key) == count}
either_way = (of_all.keys() | of_some.keys()) - right.keys()

said = [((row["rule"], row["source"], row["what"], row["at"]), row["count"]) for row in objects("alarms")]
times = Counter(key for key, _ in said)
alarms = {key: (times[key], count) for key, count in said if key not in either_way}
planted = {tuple(attack) for attack in json.loads((Path(__file__).parent / "planted.json").read_text())}
attacks = {key[:3] for key in alarms}
print(f'S2G {{"planted": {len(planted)}, "found": {len(attacks)}, "too_late_to_tell": {len(either_way)}}}')
compare(
    {key: (1, count) for key, count in right.items()} | {"attacks": sorted(planted)},
    alarms | {"attacks": sorted(attacks)},
)
