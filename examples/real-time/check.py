"""Every record once on each way, and Real-Time Mode faster: times are those at which Kafka got the records."""

from statistics import median

from stream2gym.check_api import compare, topic

sent = {message["value"]: message["time_ms"] for message in topic("in")}
ways = {name: {message["value"]: message["time_ms"] for message in topic(name)} for name in ("batched", "instant")}
waits = {name: [at - sent[value] for value, at in copies.items() if value in sent] for name, copies in ways.items()}
took = {name: median(times) if times else float("inf") for name, times in waits.items()}
for name, milliseconds in took.items():
    print(f"{name}: {milliseconds:.0f} ms between the two topics (median of {len(ways[name])})")
expected = {(name, value): True for name in ways for value in sent}
found = {(name, value): True for name, copies in ways.items() for value in copies}
expected["real time is faster"] = True
found["real time is faster"] = took["instant"] < took["batched"]
compare(expected, found)
