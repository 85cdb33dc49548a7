"""What observed engines fetched from Kafka: counts, and nothing about delivery.

An engine assigns partitions to itself and keeps its positions in checkpoints of its own. It fetches offsets again
after a failure, or because another executor does the next batch, and may leave out what it does not need. So its
fetches show what reached it, and neither what it was owed nor what it worked on. The audit is about groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.result_tables import FetchedRow

_PLACE = ["topic", "partition", "group", "consumer"]


def count_fetched(inputs: Inputs) -> tuple[FetchedRow, ...]:
    """What each engine fetched from each partition: messages, and different offsets among them."""
    if not inputs.engines_on_wire:
        return ()
    wanted = pc.field("consumer").isin(list(inputs.engines_on_wire))
    rows = pq.read_table(inputs.table("received"), columns=[*_PLACE, "offset", "size"], filters=wanted)
    # Parts of the file may have different dictionaries of names, which Arrow does not group by.
    rows = rows.unify_dictionaries()
    counted = rows.group_by(_PLACE).aggregate([("offset", "count"), ("offset", "count_distinct"), ("size", "sum")])
    found = [
        FetchedRow(
            topic=row["topic"],
            partition=row["partition"],
            group=row["group"],
            consumer=row["consumer"],
            messages=row["offset_count"],
            offsets=row["offset_count_distinct"],
            bytes=row["size_sum"],
        )
        for row in counted.to_pylist()
    ]
    return tuple(sorted(found, key=lambda row: (row.consumer, row.topic, row.partition, row.group)))


def describe_fetched(rows: Iterable[FetchedRow], held: Mapping[str, int]) -> Iterator[str]:
    """A sentence for each engine and topic. ``held`` are the messages that Kafka holds in each topic."""
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        messages, offsets = totals.get((row.consumer, row.topic), (0, 0))
        totals[row.consumer, row.topic] = (messages + row.messages, offsets + row.offsets)
    for (engine, topic), (messages, offsets) in totals.items():
        of_all = f" of {held[topic]:,}" if topic in held else ""
        again = f" (and {messages - offsets:,} times one of them again)" if messages > offsets else ""
        yield f"{engine} fetched {offsets:,}{of_all} messages of {topic}{again}"
