"""Sealing: the journals become tables, in one piece, also after a crash."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import stream2gym.record.seal as sealing
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import (
    ACKED,
    DELIVERED,
    FAILED,
    LATE,
    MARK,
    NOISY,
    RECEIVED,
    SENT,
    TRUTH,
    WITH_KEY,
    Identity,
    Journal,
)
from stream2gym.record.journal_writers import SampleLog
from stream2gym.record.schemas import TABLES, read_table
from stream2gym.record.seal import seal

T0 = 10**12


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create("a", seed=1, base=tmp_path)
    folder.set_t0(T0)
    return folder


def write_some(folder: RunFolder) -> None:
    path, identity = folder.new_journal("sent", "gen", 2)
    sent = Journal(path, SENT, identity)
    topic = sent.number("in")
    sent.append(T0 + 5, T0 + 6, 11, 12, 25, topic, MARK | WITH_KEY)
    sent.append(T0 + 7, T0 + 8, 0, 13, 25, topic, MARK)
    sent.append(T0 + 9, 0, 0, 14, 25, topic, MARK)
    sent.append(T0 + 9, T0 + 9, 0, 15, 25, topic, MARK)
    sent.amend(0, 3, 100, T0 + 60, 0, ACKED)
    sent.amend(2, -1, -1, T0 + 70, sent.number("it broke"), FAILED)
    sent.amend(3, 0, 7, T0 + 80, 0, DELIVERED)
    identity = Identity("see", 1, 1, {"group": "g"})
    received = Journal(folder.raw / identity.file_name("received"), RECEIVED, identity, kept=1)
    topic, gen = received.number("in"), received.number("gen")
    received.append(T0 + 90, 100, 1 << 40, 11, 12, 1700, 25, 3, topic, gen, MARK | WITH_KEY)
    received.append(T0 + 91, 101, 0, 0, 13, -1, 25, 3, topic, 0, MARK)
    samples = SampleLog(folder.raw, "links")
    samples.add("fabric", "h1 -- s1", "bytes", 12.5, at_ns=T0 + 1)
    truth = Journal(folder.raw / Identity("gen", 2).file_name("truth"), TRUTH, Identity("gen", 2))
    truth.append(0, 1 << 40, T0, 99, LATE | NOISY, MARK)
    truth.append(1, -1, T0 + 1, 98, 0, MARK)
    folder.write_offsets([("in", 3, 0, 102)])


def test_every_table_has_its_columns_and_its_rows(folder: RunFolder) -> None:
    write_some(folder)
    assert seal(folder) == {"sent": 4, "received": 2, "offsets": 1, "samples": 1, "truth": 2}
    rows = read_table(folder.data, "sent").to_pylist()
    assert rows[0] == {
        "producer": "gen", "instance": 2, "seq": 1 << 40, "topic": "in", "partition": 3, "offset": 100,
        "key_hash": 11, "value_hash": 12, "size": 25, "due_ns": 5, "sent_ns": 6, "done_ns": 60,
        "status": "acked", "error": None, "paced": True,
    }  # fmt: skip
    assert [row["status"] for row in rows] == ["acked", "queued", "failed", "queued"]
    assert [row["seq"] for row in rows] == [(1 << 40) + n for n in range(4)]
    assert {k: rows[1][k] for k in ("partition", "offset", "done_ns", "key_hash")} == dict.fromkeys(
        ("partition", "offset", "done_ns", "key_hash")
    )
    assert (rows[2]["error"], rows[2]["sent_ns"], rows[2]["partition"]) == ("it broke", None, None)
    assert read_table(folder.data, "received").to_pylist() == [
        {
            "consumer": "see", "instance": 1, "group": "g", "topic": "in", "partition": 3, "offset": 100,
            "producer": "gen", "seq": 1 << 40, "key_hash": 11, "value_hash": 12, "size": 25, "broker_ms": 1700,
            "at_ns": 90,
        },
        {
            "consumer": "see", "instance": 1, "group": "g", "topic": "in", "partition": 3, "offset": 101,
            "producer": None, "seq": None, "key_hash": None, "value_hash": 13, "size": 25, "broker_ms": None,
            "at_ns": 91,
        },
    ]  # fmt: skip
    assert read_table(folder.data, "offsets").to_pylist() == [{"topic": "in", "partition": 3, "start": 0, "end": 102}]
    assert read_table(folder.data, "samples").to_pylist() == [
        {"at_ns": 1, "source": "fabric", "object": "h1 -- s1", "metric": "bytes", "value": 12.5}
    ]
    truth = read_table(folder.data, "truth").to_pylist()
    assert [(row["seq"], row["event_ns"], row["flaws"]) for row in truth] == [
        (1 << 40, 0, "late+noisy"),
        (None, 1, ""),
    ]


def test_sealing_twice_changes_nothing_and_raw_is_gone(folder: RunFolder) -> None:
    write_some(folder)
    first = seal(folder)
    assert not folder.raw.exists()
    assert seal(folder) == first
    assert len(read_table(folder.data, "sent")) == 4


def test_a_run_that_recorded_nothing_has_empty_tables(folder: RunFolder) -> None:
    assert set(seal(folder).values()) == {0}
    for name, schema in TABLES.items():
        assert pq.read_schema(folder.data / f"{name}.parquet").names == schema.names


def test_a_seal_that_was_cut_short_is_made_again(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write_some(folder)

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("stream2gym.record.seal.os.replace", cut)
        with pytest.raises(KeyboardInterrupt):
            seal(folder)
    assert folder.raw.exists()
    assert not list(folder.data.glob("*.parquet"))
    assert seal(RunFolder.open(folder.path))["sent"] == 4


def test_a_broken_journal_is_an_event_and_the_others_are_kept(folder: RunFolder) -> None:
    write_some(folder)
    (folder.raw / "sent.bad.1.1.journal").write_bytes(b"rubbish")
    assert seal(folder)["sent"] == 4
    assert [event["file"] for event in folder.read_events()] == ["sent.bad.1.1.journal"]


def test_blocks_of_rows_keep_counting(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "BLOCK_ROWS", 10)
    journal = Journal(folder.raw / "sent.g.1.1.journal", SENT, Identity("g"))
    for n in range(35):
        journal.append(T0 + n, T0, 0, n, 1, 0, MARK)
    seal(folder)
    table = read_table(folder.data, "sent")
    assert table["seq"].to_pylist() == list(range(35))
    assert table["due_ns"].to_pylist() == list(range(35))
