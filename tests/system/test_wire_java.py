"""Java programs with Kafka's own client are observed from their packets: the record says what Kafka says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest

from stream2gym.software.ensure_kafka import ensure_kafka
from tests.support.play import Played, play, star
from tests.support.wire_recording import compile_java

Row = dict[str, Any]
PLAIN, COMMITTED, ABORTED = 300, 20, 10


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The programs run as the documentation says: a script that starts Java is the program."""
    folder = tmp_path_factory.mktemp("shop")
    kafka = ensure_kafka()
    compile_java("Shop", folder / "classes")
    words = f"{kafka.java.java} -Xmx128m -XX:+UseSerialGC -cp classes:{kafka.classpath} Shop"
    scripts = {name: f'#!/bin/sh\nexec {words} {name} "$@"\n' for name in ("write", "read")}
    for name in scripts:
        (folder / name).touch(0o755)
    keys = {
        "topology": star(3, "5 ms"),
        "brokers": [{"on": "h2"}],
        "topics": [{"name": "t", "partitions": 2}, "tx"],
        "producers": [{"name": "shop", "on": "h1", "type": "CUSTOM", "app": "write", "observe": "wire"}],
        "consumers": [
            {"name": "office", "on": "h3", "type": "CUSTOM", "topics": ["t", "tx"], "app": "read", "observe": "wire",
             "group": "office", "grace": "0 s"},
        ],
        "time": "60 s",
        "drain": "12 s",
    }  # fmt: skip
    played = play(keys, folder, scripts)
    assert played.outcome.error is None
    assert played.events("unobserved") == []
    return played


def table(played: Played, name: str, **wanted: Any) -> list[Row]:
    rows: list[Row] = pq.read_table(played.folder.data / f"{name}.parquet").to_pylist()
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def places(rows: list[Row]) -> Counter[tuple[int, int]]:
    return Counter((row["partition"], row["offset"]) for row in rows)


def log_of(played: Played, topic: str) -> set[tuple[int, int]]:
    return {
        (row["partition"], offset)
        for row in table(played, "offsets", topic=topic)
        for offset in range(row["start"], row["end"])
    }


def test_compressed_messages_of_an_idempotent_producer_stand_where_kafka_has_them(shop: Played) -> None:
    sent = table(shop, "sent", topic="t")
    assert Counter(row["status"] for row in sent) == {"acked": PLAIN}
    assert places(sent) == Counter(log_of(shop, "t"))


def test_the_messages_of_transactions_have_the_outcome_of_their_transaction(shop: Played) -> None:
    sent = table(shop, "sent", topic="tx")
    assert Counter(row["status"] for row in sent) == {"acked": COMMITTED, "failed": ABORTED}
    assert {row["error"] for row in sent if row["status"] == "failed"} == {"transaction aborted"}
    # What else stands there are the three ends of transactions.
    assert len(log_of(shop, "tx") - set(places(sent))) == 3
    assert shop.samples("program", "shop", "acknowledged") == [PLAIN + COMMITTED]


def test_a_consumer_is_on_record_with_its_group_and_what_it_was_handed(shop: Played) -> None:
    received = table(shop, "received", consumer="office")
    assert {row["group"] for row in received} == {"office"}
    assert shop.samples("program", "office", "handed") == [len(received)]
    acknowledged = {
        (row["topic"], row["partition"], row["offset"]): (row["producer"], row["seq"], row["value_hash"])
        for row in table(shop, "sent", status="acked")
    }
    assert {
        (row["topic"], row["partition"], row["offset"]): (row["producer"], row["seq"], row["value_hash"])
        for row in received
    } == acknowledged
    assert len(received) == len(acknowledged)
