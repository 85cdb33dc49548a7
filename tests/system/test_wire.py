"""Programs that are observed from their packets: the record says what Kafka and the programs themselves say."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stream2gym.execution.drive_load import Load
from stream2gym.link import LinkSettings
from tests.support.play import Played, play, star
from tests.support.wire_programs import (
    CONFLUENT_READS,
    CONFLUENT_REPEATS,
    CONFLUENT_WRITES,
    KAFKA_PYTHON_READS,
    KAFKA_PYTHON_WRITES,
    foreign,
)

Row = dict[str, Any]
PROGRAMS = {
    "python_writes.py": KAFKA_PYTHON_WRITES,
    "foreign_writes.py": CONFLUENT_WRITES,
    "foreign_reads.py": CONFLUENT_READS,
    "python_reads.py": KAFKA_PYTHON_READS,
    "writes": foreign(sys.executable, "foreign_writes.py"),
    "reads": foreign(sys.executable, "foreign_reads.py"),
}


def table(played: Played, name: str) -> list[Row]:
    rows: list[Row] = pq.read_table(played.folder.data / f"{name}.parquet").to_pylist()
    return rows


def run(folder: Path, **keys: Any) -> Played:
    folder.mkdir(exist_ok=True)
    for name in ("writes", "reads"):
        (folder / name).touch(0o755)
    played = play({"brokers": [{"on": "h2"}], "topics": [{"name": "t", "partitions": 3}], **keys}, folder, PROGRAMS)
    assert played.outcome.error is None
    return played


def place(row: Row) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


@pytest.mark.alone  # beside other tests, a program behind lossy links may not join its group in time
@pytest.mark.timeout(180)
def test_the_packets_of_programs_say_what_kafka_and_the_programs_say(tmp_path: Path) -> None:
    """Over links that lose packets, several programs on one host, two processes of one, and one beside the broker."""
    played = run(
        tmp_path / "run-it",
        topology=star(3, "5 ms, 100 Mbps, 2 % loss"),
        producers=[
            {"name": "pythons", "on": "h1", "type": "CUSTOM", "topic": "t", "app": "python_writes.py", "instances": 2,
             "observe": "wire"},
            {"name": "foreign", "on": "h1", "type": "CUSTOM", "topic": "t", "app": "writes", "observe": "wire"},
            {"name": "ours", "on": "h1", "topic": "t", "rate": "50/s", "size": "20 B"},
        ],
        consumers=[
            {"name": "far", "on": "h3", "type": "CUSTOM", "topics": ["t"], "app": "reads", "observe": "wire"},
            {"name": "near", "on": "h2", "type": "CUSTOM", "topics": ["t"], "app": "python_reads.py",
             "observe": "wire"},
            {"name": "recording", "on": "h3", "topics": ["t"]},
        ],
        # The programs send for six seconds; then a slow machine has time for what packet loss holds up.
        time="18 s",
        drain="15 s",
    )  # fmt: skip
    assert played.events("unobserved") == []
    sent, received = table(played, "sent"), table(played, "received")
    own = [row for row in sent if row["producer"] == "ours"]
    assert {row["status"] for row in sent} == {"acked"}
    # What the programs themselves counted.
    counted = {name: sum(played.samples("program", name, "acknowledged")) for name in ("pythons", "foreign")}
    assert Counter(row["producer"] for row in sent) == {**counted, "ours": len(own)}
    assert {row["instance"] for row in sent if row["producer"] == "pythons"} == {1, 2}
    assert min(counted.values()) > 200
    # What Kafka holds.
    log = {
        ("t", row["partition"], offset)
        for row in table(played, "offsets")
        for offset in range(row["start"], row["end"])
    }
    assert {place(row) for row in sent} == log
    assert len(sent) == len(log)
    for name, group in (("far", "foreign"), ("near", "pythonic")):
        rows = [row for row in received if row["consumer"] == name]
        (handed,) = played.samples("program", name, "handed")
        assert len(rows) == handed
        assert {place(row) for row in rows} == log
        assert {row["group"] for row in rows} == {group}
    # Who sent what was received, also to the consumer of ours, is known without any header.
    by_place = {place(row): (row["producer"], row["seq"], row["value_hash"], row["key_hash"]) for row in sent}
    for row in received:
        assert by_place[place(row)] == (row["producer"], row["seq"], row["value_hash"], row["key_hash"])
    for row in received:
        assert row["at_ns"] > 0


@pytest.mark.timeout(180)
def test_programs_that_are_killed_are_observed_up_to_their_last_packet(tmp_path: Path) -> None:
    """Neither a SIGKILL of the program nor the end of its host loses anything that it had sent."""

    def kill_later(load: Load) -> None:
        def kill() -> None:
            load.components.context.network.power_off("h1")

        threading.Timer(3.0, kill).start()

    folder = tmp_path / "run-it"
    folder.mkdir()
    (folder / "writes").touch(0o755)
    keys = {
        "topology": star(3, "2 ms"),
        "brokers": [{"on": "h2"}],
        "topics": [{"name": "t", "partitions": 1}],
        "producers": [
            {"name": "foreign", "on": "h1", "type": "CUSTOM", "topic": "t", "app": "writes", "observe": "wire"}
        ],
        "consumers": [{"name": "recording", "on": "h3", "topics": ["t"]}],
        "time": "18 s",
        "drain": "5 s",
    }
    played = play(keys, folder, PROGRAMS, kill_later)
    assert played.events("unobserved") == []
    assert len(played.events("died", component="foreign")) == 1
    sent, received = table(played, "sent"), table(played, "received")
    assert len(sent) > 100
    # Everything in the log is on record, the last messages perhaps without the broker's word.
    assert {row["seq"] for row in received} <= {row["seq"] for row in sent}
    assert {row["producer"] for row in received} == {"foreign"}
    acknowledged = {row["seq"] for row in sent if row["status"] == "acked"}
    assert acknowledged <= {row["seq"] for row in received}
    assert {row["status"] for row in sent} <= {"acked", "queued"}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("acks", ["all", pytest.param("0", marks=pytest.mark.long)])
def test_messages_that_a_client_sends_again_are_one_message_and_copies_of_it_are_found(
    tmp_path: Path, acks: str
) -> None:
    """No response reaches the producer for a while, so that it sends again what the broker has written already."""

    def lose_responses(load: Load) -> None:
        fabric = load.components.context.network.fabric
        threading.Timer(2.0, lambda: fabric.set_link("h1 -- s1", backward=LinkSettings(loss=1.0))).start()
        threading.Timer(4.5, lambda: fabric.set_link("h1 -- s1", backward=LinkSettings(latency_ms=2.0))).start()

    keys = {
        "topology": star(3, "2 ms"),
        "brokers": [{"on": "h2"}],
        "topics": [{"name": "t", "partitions": 1}],
        "producers": [
            {"name": "foreign", "on": "h1", "type": "CUSTOM", "topic": "t", "app": "repeats.py", "observe": "wire",
             "env": {"ACKS": acks}}
        ],
        "consumers": [{"name": "recording", "on": "h3", "topics": ["t"]}],
        "time": "10 s",
        "drain": "5 s",
    }  # fmt: skip
    programs = {"repeats.py": CONFLUENT_REPEATS}
    played = play(keys, tmp_path / "run-it", programs, lose_responses)
    assert played.outcome.error is None
    assert played.events("unobserved") == []
    sent, received = table(played, "sent"), table(played, "received")
    (acknowledged,) = played.samples("program", "foreign", "acknowledged")
    (made,) = played.samples("program", "foreign", "made")
    if acks == "all":
        assert Counter(row["status"] for row in sent) == {"acked": acknowledged}
        assert len(sent) == made
    else:
        # What was in the kernel when the client gave a connection up may never have left.
        assert {row["status"] for row in sent} == {"unconfirmed"}
        assert made / 2 < len(sent) <= made
    # Everything that the consumer found is one of these messages.
    assert {row["producer"] for row in received} == {"foreign"}
    sizes = {row["seq"]: row["value_hash"] for row in sent}
    assert all(sizes[row["seq"]] == row["value_hash"] for row in received)
    found = Counter(row["seq"] for row in received)
    if acks == "all":
        assert set(found) == set(sizes)
        (end,) = (row["end"] for row in table(played, "offsets"))
        assert len(received) == end
        # The broker wrote some of them twice, and it is known which.
        assert end > made
        assert sum(count - 1 for count in found.values()) == end - made
    else:
        assert max(found.values()) == 1
        assert len(found) > made / 2
