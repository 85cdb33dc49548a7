"""How far every group came in every partition, from receipts, recorded positions and Kafka's own offsets.

A consumer's positions are samples of source ``client``: metric ``first TOPIC/PARTITION`` where it began and
``position TOPIC/PARTITION`` the next offset it would read. Without them receipts must do.
"""

from __future__ import annotations

import re

import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from stream2gym.analysis.fate import Reach
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.scans import Distinct, ReceivedScan
from stream2gym.analysis.tables import PositionRow

_POSITION = re.compile(r"^(first|position) (.+)/(\d+)$")

Place = tuple[str, int, str]  # topic, partition, group


def kafka_offsets(inputs: Inputs) -> dict[tuple[str, int], tuple[int, int]]:
    """Start and end of every partition that Kafka told at the end."""
    if not inputs.rows.get("offsets"):
        return {}
    rows = pq.read_table(inputs.table("offsets")).to_pylist()
    return {(row["topic"], row["partition"]): (row["start"], row["end"]) for row in rows}


def recorded_positions(inputs: Inputs) -> tuple[dict[Place, int], dict[Place, int]]:
    """First and last recorded positions of groups."""
    first: dict[Place, int] = {}
    last: dict[Place, int] = {}
    if not inputs.rows.get("samples"):
        return first, last
    group_of: dict[str, str] = {}
    for name, groups in inputs.groups().items():
        group_of[name] = groups[0]
        group_of |= {f"{name}.{number}": group for number, group in enumerate(groups, 1)}
    table = pq.read_table(inputs.table("samples"), filters=pc.field("source") == "client")
    for row in table.sort_by("at_ns").to_pylist():
        match = _POSITION.match(row["metric"])
        group = group_of.get(str(row["object"]))
        if match is None or group is None:
            continue
        place = (match[2], int(match[3]), group)
        if match[1] == "first":
            first.setdefault(place, int(row["value"]))
        else:
            last[place] = max(last.get(place, 0), int(row["value"]))
    return first, last


def group_positions(
    inputs: Inputs,
    received: ReceivedScan,
    distinct: dict[tuple[str, int, str, str | None], Distinct],
    places: set[tuple[str, int]],
) -> list[PositionRow]:
    """One row a group and partition, also for those of which nothing was read."""
    offsets = kafka_offsets(inputs)
    first, last = recorded_positions(inputs)
    receipts: dict[Place, int] = {}
    foreign: dict[Place, int] = {}
    lowest: dict[Place, int] = {}
    highest: dict[Place, int] = {}
    read: dict[Place, int] = {}
    for reading in received.readings:
        place = (reading.topic, reading.partition, reading.group)
        receipts[place] = receipts.get(place, 0) + reading.messages
        if reading.producer is None:
            foreign[place] = foreign.get(place, 0) + reading.messages
        lowest[place] = min(lowest.get(place, reading.lowest), reading.lowest)
        highest[place] = max(highest.get(place, reading.highest), reading.highest)
    for (topic, partition, group, _), number in distinct.items():
        place = (topic, partition, group)
        read[place] = read.get(place, 0) + number.offsets
    observed = {(sub.topic, sub.group): sub.observed for sub in inputs.subscriptions()}
    wanted = {
        (topic, partition, group)
        for topic, partition in places | set(offsets)
        for (name, group) in observed
        if name == topic and partition >= 0
    }
    rows = []
    for place in sorted(wanted | set(receipts)):
        topic, partition, group = place
        start, end = offsets.get((topic, partition), (None, None))
        top = highest.get(place)
        known = [
            number for number in (last.get(place), None if top is None else top + 1) if number is not None
        ]
        span = 0 if top is None else top - lowest[place] + 1
        rows.append(
            PositionRow(
                topic, partition, group, start, end,
                first=first.get(place, lowest.get(place)),
                position=max(known, default=None),
                receipts=receipts.get(place, 0),
                offsets_read=read.get(place, 0),
                gaps=max(0, span - read.get(place, 0)),
                foreign=foreign.get(place, 0),
                observed=observed.get((topic, group), True),
            )
        )  # fmt: skip
    return rows


def reach_of(row: PositionRow, latest: bool) -> Reach:
    return Reach(row.start, row.end, latest, row.first, row.position)


def reach_of_unknown_partition(rows: list[PositionRow], latest: bool) -> Reach:
    """For messages whose partition nobody knows: the group has come to the end only if it did everywhere."""
    done = bool(rows) and all(reach_of(row, latest).reached_end for row in rows)
    first = 0 if rows and all(row.first is not None for row in rows) else None
    return Reach(0, 0, latest, first, 0) if done else Reach(0, None, latest, first, 0)
