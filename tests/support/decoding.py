"""Captured packets of one client, decoded into journals, for tests."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream2gym.packets.conversation import ClientConversation
from stream2gym.packets.observed_client import ObservedClient
from stream2gym.packets.tcp import Connections, Segment, read_pcap
from stream2gym.record.journal import Reader
from stream2gym.record.messages import hash64
from stream2gym.record.schemas import STATUSES

DATA = Path(__file__).parents[1] / "data" / "wire"
Row = dict[str, Any]


@dataclass
class Decoded:
    """Rows of the journals, with texts in place of their numbers."""

    sent: list[Row] = field(default_factory=list)
    received: dict[str, list[Row]] = field(default_factory=dict)
    problems: dict[str, int] = field(default_factory=dict)
    headless: int = 0


def said(name: str) -> Row:
    """What the clients of a recording said that they did."""
    read: Row = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return read


def segments(name: str) -> list[Segment]:
    return list(read_pcap(DATA / f"{name}.pcap"))


def decode(packets: Iterable[Segment], port: int) -> Decoded:
    """Every connection to the port, as that of one client."""
    with tempfile.TemporaryDirectory() as folder:
        client = ObservedClient(Path(folder), "app", 1, "given")
        topics: dict[bytes, str] = {}
        connections = Connections(port, lambda _end: ClientConversation(client, topics))
        for segment in packets:
            connections.add(segment)
        connections.end()
        client.close()
        found = Decoded(problems=dict(client.problems), headless=connections.headless)
        for path in sorted(Path(folder).glob("*.journal")):
            reader = Reader(path)
            texts = reader.strings()
            rows = [_named(row, texts) for row in reader.rows()]
            if reader.layout.schema == "sent":
                found.sent = rows
            else:
                found.received[reader.identity.extra["group"]] = rows
    return found


def _named(row: Row, texts: list[str]) -> Row:
    row["topic"] = texts[row["topic"]]
    if "status" in row:
        row["status"] = STATUSES[row["status"]]
        row["error"] = texts[row["error"]]
    return row


def places(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Where messages stand, and what they are."""
    return sorted((row["partition"], row["offset"], row["key_hash"], row["value_hash"]) for row in rows)


def told_places(messages: Iterable[list[Any]]) -> list[tuple[Any, ...]]:
    """The same of messages as their clients tell them: partition, offset, key, value."""
    return sorted(
        (part, offset, hash64(key.encode()), hash64(value.encode())) for part, offset, key, value in messages
    )
