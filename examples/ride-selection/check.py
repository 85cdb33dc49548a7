"""The right answer in plain Python: every ride with its fares, by area and five minutes.

Whether an event that is far too late still counts depends on how batches fell, so area "late" is left out.
"""

from datetime import datetime, timedelta

from stream2gym.check_api import compare, objects

LIMIT = timedelta(minutes=10)
UNCERTAIN = ("late", "close")

fares: dict[int, list[tuple[datetime, int]]] = {}
for fare in objects("fares"):
    fares.setdefault(fare["ride"], []).append((datetime.fromisoformat(fare["paid"]), fare["tip_cents"]))

expected: dict[tuple[str, str], tuple[int, int]] = {}
for ride in objects("rides"):
    started = datetime.fromisoformat(ride["started"])
    start = started.replace(minute=started.minute // 5 * 5).strftime("%H:%M")
    for paid, tip in fares.get(ride["ride"], []):
        if ride["area"] not in UNCERTAIN and started <= paid <= started + LIMIT:
            rides, tips = expected.get((ride["area"], start), (0, 0))
            expected[ride["area"], start] = (rides + 1, tips + tip)

found = {
    (row["area"], row["start"]): (row["rides"], row["tips"])
    for row in objects("tips")
    if row["area"] not in UNCERTAIN
}
compare(expected, found)
