"""The record of a run held against the packets of its clients' hosts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from stream2gym.components.cluster import CLIENT_PORT
from tests.proof.record import Record, Row
from tests.witness.kafka_wire import Message, Wire, read_wire


@dataclass(frozen=True)
class Side:
    """One client's messages: in the record, on the wire, and where the two differ."""

    client: str
    recorded: int
    on_wire: int
    only_recorded: frozenset[Message]
    only_on_wire: frozenset[Message]

    @classmethod
    def of(cls, client: str, recorded: set[Message], on_wire: set[Message]) -> Side:
        return cls(
            client,
            len(recorded),
            len(on_wire),
            frozenset(recorded - on_wire),
            frozenset(on_wire - recorded),
        )

    def __str__(self) -> str:
        return (
            f"{self.client}: {self.recorded} recorded, {self.on_wire} on the wire,"
            f" {len(self.only_recorded)} only recorded, {len(self.only_on_wire)} only on the wire"
        )


def compare_acknowledged(run: Path) -> dict[str, Side]:
    """Each producer's acknowledged messages at their places in the log."""
    record, wires = Record(run), _Wires(run)
    found = {}
    for producer in _experiment(run)["producers"]:
        name = producer["name"]
        rows = [r for r in record.sent if r["producer"] == name and r["status"] == "acked"]
        seen = {m for m in wires.of(producer["on"]).acknowledged if m.name.rpartition(":")[0] == name}
        found[name] = Side.of(name, {_message(row) for row in rows}, seen)
    return found


def compare_received(run: Path) -> dict[str, Side]:
    """Each consumer's messages at their places in the log; consumers that share a host share its packets."""
    record, wires = Record(run), _Wires(run)
    found = {}
    for consumer in _experiment(run)["consumers"]:
        rows = [r for r in record.received if r["consumer"] == consumer["name"]]
        recorded = {_message(row) for row in rows}
        found[consumer["name"]] = Side.of(consumer["name"], recorded, wires.of(consumer["on"]).fetched)
    return found


def _message(row: Row) -> Message:
    return Message(f"{row['producer']}:{row['seq']}", row["topic"], row["partition"], row["offset"])


def _experiment(run: Path) -> Row:
    read: Row = yaml.safe_load((run / "experiment.yaml").read_text("utf-8"))
    return read


class _Wires:
    """The packets of each host, read once."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._read: dict[str, Wire] = {}

    def of(self, host: str) -> Wire:
        if host not in self._read:
            (capture,) = (self._run / "captures").glob(f"{host}--*.pcap")
            self._read[host] = read_wire(capture, CLIENT_PORT)
        return self._read[host]
