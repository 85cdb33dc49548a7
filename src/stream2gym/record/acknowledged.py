"""Which messages were acknowledged so far, partition by partition, read from the journals of the producers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from stream2gym.errors import Defect
from stream2gym.record.columns import BLOCK_ROWS, read_columns
from stream2gym.record.journal import ACKED, SUFFIX, UNCONFIRMED, Reader

TopicPartition = tuple[str, int]  # topic and partition


@dataclass
class Acknowledged:
    """The offset that every partition must reach before all acknowledged messages can be read."""

    # The offset after the last acknowledged message of each partition.
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    # Topics of messages sent with acks 0, of which nobody knows whether Kafka has them.
    unconfirmed: set[str] = field(default_factory=set)
    # Whether some journal could not be read: then there may be more.
    has_gaps: bool = False

    def add(self, place: TopicPartition, end: int) -> None:
        self.ends[place] = max(end, self.ends.get(place, 0))


def read_acknowledged(raw: Path) -> Acknowledged:
    """Read the journals of all producers, including those that were killed."""
    found = Acknowledged()
    for path in sorted(raw.glob(f"sent.*{SUFFIX}")):
        try:
            _add_journal(found, Reader(path))
        except (OSError, Defect):
            found.has_gaps = True
    return found


def _add_journal(found: Acknowledged, reader: Reader) -> None:
    topics = reader.strings()
    for block in reader.blocks(BLOCK_ROWS):
        rows = pa.table(read_columns(reader, block, ("topic", "partition", "offset", "status")))
        furthest = rows.group_by(["topic", "partition", "status"]).aggregate([("offset", "max")])
        answered = furthest.filter(pc.is_in(furthest["status"], pa.array([ACKED, UNCONFIRMED], pa.uint8())))
        for row in answered.to_pylist():
            # The text may be missing when the producer was killed before it could write it.
            if row["topic"] >= len(topics):
                found.has_gaps = True
                continue
            topic = topics[row["topic"]]
            if row["status"] == ACKED and row["offset_max"] >= 0:
                found.add((topic, row["partition"]), row["offset_max"] + 1)
            else:
                found.unconfirmed.add(topic)
