"""Counts the round trips between Spark and the broker that a micro-batch waits for, in the packets of Spark's link.

A batch begins with the questions of the driver that show it new messages: those after its last look at the offsets
that showed none. It ends when the broker has acknowledged the results. Of all round trips in between, those count
that begin when the one before them has ended; each of these costs twice the latency of the link. In Real-Time Mode
messages wait for no batch, so that there is nothing to count.

A burst comes while the driver asks, and need not wait for all of its questions. So what a burst waits for is counted,
too, of the bursts that come while no batch is at work: from the moment at which it was sent, to that at which the
broker has its results. That holds where the link of Spark is the one with a latency.
"""

import json
import sys
from collections import Counter
from itertools import pairwise
from statistics import mean

from stream2gym.check_api import round_trips, topic
from stream2gym.packets.round_trips import RoundTrip, find_sequential

# Bursts come every four seconds. What Spark sends within a second belongs to one batch.
APART_NS = 1_000_000_000
LINK = "spark -- s1"


def is_look_at_offsets(trip: RoundTrip) -> bool:
    return trip.kind == "list offsets" and trip.client.startswith("adminclient")


def split_batches(trips: list[RoundTrip]) -> list[list[RoundTrip]]:
    """The produce requests of each batch."""
    batches: list[list[RoundTrip]] = []
    for trip in trips:
        if trip.kind == "produce":
            if not batches or trip.begin_ns - batches[-1][-1].end_ns > APART_NS:
                batches.append([])
            batches[-1].append(trip)
    return batches


def find_chain(trips: list[RoundTrip], produced: list[RoundTrip]) -> list[RoundTrip]:
    """The round trips that follow each other from the first question of a batch to its last acknowledgement."""
    looks = [trip for trip in trips if is_look_at_offsets(trip) and trip.end_ns <= produced[0].begin_ns]
    if not looks:
        return []
    # The driver asks while no batch is at work, so what others asked before is of the batch before.
    earlier = [trip for trip in trips if trip.end_ns <= looks[-1].begin_ns]
    last = [trip.end_ns for trip in earlier if is_look_at_offsets(trip) or not trip.client.startswith("adminclient")]
    begin_ns = max(last, default=0)
    end_ns = max(trip.end_ns for trip in produced)
    return find_sequential([trip for trip in trips if begin_ns <= trip.begin_ns and trip.end_ns <= end_ns])


def find_bursts(times_ns: list[int]) -> list[int]:
    """The times of the first messages of bursts, of the times of all messages."""
    ordered = sorted(times_ns)
    return [time for before, time in pairwise([-APART_NS, *ordered]) if time - before > APART_NS]


def count_waited(trips: list[RoundTrip], sent_ns: int, end_ns: int) -> float:
    """The round trips from a moment to the acknowledgement of the results.

    Of the first only what was left of it then counts. Of the last only the way to the broker does, half of it.
    """
    chain = find_sequential([trip for trip in trips if sent_ns < trip.end_ns <= end_ns])
    left = (chain[0].end_ns - sent_ns) / (chain[0].end_ns - chain[0].begin_ns)
    return min(1.0, left) + len(chain) - 1 - 0.5


def list_waited(trips: list[RoundTrip], bursts: list[int]) -> list[float]:
    """What the bursts waited for that came while no batch was at work, those of the first batch left out."""
    waited = []
    for before, after in pairwise(split_batches(trips)):
        idle_ns, end_ns = (max(trip.end_ns for trip in produced) for produced in (before, after))
        waited += [count_waited(trips, sent, end_ns) for sent in bursts if idle_ns < sent < after[0].begin_ns]
    return waited


(mode,) = sys.argv[1:]
trips = round_trips(LINK) if mode == "micro-batch" else []
chains = [chain for produced in split_batches(trips) if (chain := find_chain(trips, produced))]
waited = list_waited(trips, find_bursts([message["time_ms"] * 1_000_000 for message in topic("in")]))
for number, chain in enumerate(chains, 1):
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(trip.kind for trip in chain).items())
    print(f"batch {number}: {len(chain)} round trips: {kinds}")
said: dict[str, float] = {"mismatches": 0, "batches": len(chains)}
if chains:
    said["first"] = len(chains[0])
if len(chains) > 1:
    said["later"] = mean(map(len, chains[1:]))
if waited:
    print(f"bursts waited for {', '.join(f'{one:.2f}' for one in waited)} of them")
    said["waited"] = mean(waited)
print(f"S2G {json.dumps(said)}")
