"""A second witness: what the packets say was acknowledged and fetched is what the record says.

The packets are decoded without any part of ours: neither the clients that wrote the record nor their Kafka library.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.proof.case import Case, carry_out
from tests.proof.cases import CASES
from tests.proof.record import Record
from tests.proof.scene import experiment
from tests.witness.compare import compare_acknowledged, compare_received
from tests.witness.kafka_wire import Wire, _topic

ENOUGH = 10_000
WITNESSED = ("leader-killed", "loss", "acks-1", "lost-answers", "consumers-killed")


def _case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def test_a_topic_that_is_named_by_its_id_is_known_through_metadata() -> None:
    wire = Wire(topics={"an id": "orders"})
    assert _topic(wire, SimpleNamespace(topic="orders")) == "orders"
    # So a fetch names it from version 13 on.
    assert _topic(wire, SimpleNamespace(topic="", topic_id="an id")) == "orders"
    with pytest.raises(KeyError):
        _topic(wire, SimpleNamespace(topic="", topic_id="another id"))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WITNESSED)
def test_the_packets_tell_the_same_as_the_record(tmp_path: Path, name: str) -> None:
    outcome = carry_out(_case(name), tmp_path, capture_all=True)
    run = outcome.seen.result.path
    record = Record(run)
    acknowledged, received = compare_acknowledged(run), compare_received(run)
    for side in (*acknowledged.values(), *received.values()):
        print(f"{name}: {side}")
        assert side.recorded > 0
        # Nothing stands in the record that no packet carried.
        assert not side.only_recorded
    assert sum(side.recorded for side in acknowledged.values()) >= ENOUGH
    for producer, side in acknowledged.items():
        # The broker's answer reached the host, but the client had given up waiting for it: it failed the
        # message, or had sent it again and recorded the second place.
        known = {f"{producer}:{row['seq']}" for row in record.sent if row["producer"] == producer}
        assert {message.name for message in side.only_on_wire} <= known
        if name != "lost-answers":
            assert not side.only_on_wire
    for consumer, side in received.items():
        # A consumer that was killed had fetched messages that it never handed over.
        if name != "consumers-killed":
            assert not side.only_on_wire, consumer


@pytest.mark.long
def test_the_witness_notices_a_record_that_says_too_much_or_too_little(tmp_path: Path) -> None:
    keys = experiment(brokers=[{"on": "h1"}], topics=[{"name": "in"}], time="3 s", expect=[], faults=[])
    quiet = replace(_case("leader-killed"), experiment=keys)
    run = carry_out(quiet, tmp_path, capture_all=True).seen.result.path
    (before,) = compare_received(run).values()
    assert not before.only_recorded
    assert not before.only_on_wire
    _change_received(run)
    (after,) = compare_received(run).values()
    assert len(after.only_recorded) == 1
    assert len(after.only_on_wire) == 2


def _change_received(run: Path) -> None:
    """Drop one receipt and move another to a place where it never stood."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = run / "data" / "received.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()[1:]
    rows[0]["offset"] += 1_000_000
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
