"""The right answer in plain Python, against the rows that the database holds."""

from stream2gym.check_api import compare, objects, table

expected: dict[tuple[int, str], tuple[int, float]] = {}
for event in objects("positions"):
    in_bay = 53.5 <= event["lat"] <= 54.8 and event["lon"] > 7.2
    if event["knots"] > 0.5 and event["kind"] != "pilot" and in_bay:
        key = (event["ship"], event["at"][11:16])
        heard, knots = expected.get(key, (0, 0.0))
        expected[key] = (heard + 1, max(knots, event["knots"]))

found = {(row["ship"], row["minute"]): (row["heard"], row["knots"]) for row in table("archive", "traffic")}
compare(expected, found)
