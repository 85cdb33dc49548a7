"""The right answer in plain Python; eight users are few enough for Spark's sketch to count them exactly."""

from datetime import datetime

from stream2gym.check_api import compare, objects

seen: dict[tuple[int, str], list[dict]] = {}
for flow in objects("flows"):
    at = datetime.fromisoformat(flow["at"])
    start = at.replace(second=at.second // 10 * 10).strftime("%H:%M:%S")
    seen.setdefault((flow["port"], start), []).append(flow)

expected = {
    key: (len(flows), sum(flow["bytes"] for flow in flows), len({flow["user"] for flow in flows}))
    for key, flows in seen.items()
}
found = {(row["port"], row["start"]): (row["packets"], row["bytes"], row["users"]) for row in objects("ports")}
compare(expected, found)
