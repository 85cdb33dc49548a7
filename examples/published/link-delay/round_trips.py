"""Counts the round trips between Spark and the broker that a micro-batch waits for, in the packets of Spark's link.

A batch begins with the questions of the driver that show it new messages: those after its last look at the offsets
that showed none. It ends when the broker has acknowledged the results. Of all round trips in between, those count
that begin when the one before them has ended; each of these costs twice the latency of the link. In Real-Time Mode
messages wait for no batch, so that there is nothing to count.
"""

import json
import sys
from collections import Counter
from statistics import mean

from stream2gym.check_api import round_trips
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


(mode,) = sys.argv[1:]
trips = round_trips(LINK) if mode == "micro-batch" else []
chains = [chain for produced in split_batches(trips) if (chain := find_chain(trips, produced))]
for number, chain in enumerate(chains, 1):
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(trip.kind for trip in chain).items())
    print(f"batch {number}: {len(chain)} round trips: {kinds}")
said: dict[str, float] = {"mismatches": 0, "batches": len(chains)}
if chains:
    said["first"] = len(chains[0])
if len(chains) > 1:
    said["later"] = mean(map(len, chains[1:]))
print(f"S2G {json.dumps(said)}")
