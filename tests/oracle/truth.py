"""Whether an audit tells the truth: its findings about a history held against what the model knows to be so."""

from __future__ import annotations

from tests.oracle.audit import Oracle
from tests.oracle.kafka_model import History
from tests.oracle.kafka_parts import Entry, Group

ACCUSED = ("lost", "expired")
SETTLED = (*ACCUSED, "compacted", "deleted")


def untruths(history: History) -> list[str]:
    """Every fate that the oracle states and that is not so."""
    groups = {group.name: group for group in history.groups}
    rows = {(row["topic"], row["producer"], row["seq"]): row for row in history.run.rows["sent"]}
    lagging = {place[0] for place, log in history.logs.items() if log.replicated < len(log.entries)}
    found = []
    for (group, topic, producer, seq), fate in Oracle(history.run).fates().items():
        row = rows[topic, producer, seq]
        place, offset = (topic, row["partition"]), row["offset"]
        message = f"{producer}:{seq} to {group} ({row['status']}, {place}, offset {offset}) is said to be {fate}"
        if offset is None and topic in lagging:
            continue  # nobody can tell what stands behind the readable end of a log: docs/metrics.md says so
        if fate in SETTLED and _is_to_come(history, groups[group], topic, producer, seq):
            found.append(f"{message}, but stands in the log, where the group will read it")
        if fate in ACCUSED and row["status"] == "acked":
            if _is_among(history.wiped, producer, seq):
                found.append(f"{message}, but its topic was deleted")
            known = "foreign" not in history.has and place in history.logs  # keys of foreign messages are not
            if (
                known
                and (offset or 0) < len(history.logs[place].entries)
                and _is_among(history.compacted, producer, seq)
            ):
                found.append(f"{message}, but it was compacted")
        if fate == "before" and offset >= groups[group].began.get(place, 0):
            found.append(f"{message}, but the group was there")
    return found


def _is_to_come(history: History, group: Group, topic: str, producer: str, seq: int) -> bool:
    return any(
        entry is not None and (entry.producer, entry.seq) == (producer, seq) and entry.visible(group.committed_only)
        for place, log in history.logs.items()
        if place[0] == topic
        for entry in log.entries[max(log.start, group.next_offset(place, log)) :]
    )


def _is_among(entries: list[Entry], producer: str, seq: int) -> bool:
    return any((entry.producer, entry.seq) == (producer, seq) for entry in entries)
