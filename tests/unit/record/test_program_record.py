"""What observed programs have done so far, and how their notes and rows come into the sealed record."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from stream2gym.instrument.recorder import Recorder, Transaction
from stream2gym.instrument.settings import Settings
from stream2gym.record import program_record
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import ACKED, Identity
from stream2gym.record.journal_writers import SentLog
from stream2gym.record.program_record import ProgramRecord, read_notes
from stream2gym.record.schemas import read_table
from stream2gym.record.seal import seal


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_record, "REFRESH_S", 0.0)


def test_counts_grow_with_the_journals_of_all_processes(tmp_path: Path) -> None:
    record = ProgramRecord(tmp_path, "app")
    assert record.counts() == {"sent": 0, "acked": 0, "failed": 0, "received": 0}
    for number in range(2):  # two processes of the program
        sends = Recorder(Settings(raw=str(tmp_path), name="app")).sends()
        assert sends is not None
        rows = [sends.add("in", None, b"x") for _ in range(10)]
        for row in rows[:4]:
            sends.delivered(row, ACKED, 0, row)
        sends.failed(rows[4], "it broke")
        assert record.counts() == {
            "sent": 10 * (number + 1),
            "acked": 4 + 9 * number,
            "failed": number + 1,
            "received": 0,
        }
        for row in rows[5:]:
            sends.delivered(row, ACKED, 0, row)
    assert record.counts() == {"sent": 20, "acked": 18, "failed": 2, "received": 0}


def test_a_message_of_an_open_transaction_is_not_acknowledged_yet(tmp_path: Path) -> None:
    sends = Recorder(Settings(raw=str(tmp_path), name="app")).sends()
    assert sends is not None
    record, transaction = ProgramRecord(tmp_path, "app"), Transaction()
    row = sends.add("in", None, b"x", transaction)
    sends.delivered(row, ACKED, 0, 0, transaction)
    assert record.counts()["acked"] == 0
    sends.settle(transaction, True)
    assert record.counts()["acked"] == 1


def test_a_report_that_comes_after_the_end_of_its_transaction_has_its_outcome(tmp_path: Path) -> None:
    sends = Recorder(Settings(raw=str(tmp_path), name="app")).sends()
    assert sends is not None
    record, transaction = ProgramRecord(tmp_path, "app"), Transaction()
    row = sends.add("in", None, b"x", transaction)
    sends.settle(transaction, False)
    sends.delivered(row, ACKED, 0, 0, transaction)
    assert record.counts() == {"sent": 1, "acked": 0, "failed": 1, "received": 0}


def test_positions_follow_the_last_receipts_of_each_group(tmp_path: Path) -> None:
    recorder, record = Recorder(Settings(raw=str(tmp_path), name="app")), ProgramRecord(tmp_path, "app")
    for group, offsets in (("g", (0, 1, 2)), ("h", (7,))):
        receipts = recorder.receipts(group)
        assert receipts is not None
        for offset in offsets:
            receipts.add(offset, "in", 1, offset, -1, None, b"x", None)
        assert record.groups()[group].positions == {("in", 1): (offsets[-1], offsets[-1] + 1)}
    assert record.counts()["received"] == 4


def test_journals_of_other_components_do_not_count(tmp_path: Path) -> None:
    SentLog(tmp_path / "sent.application.1.1.journal", Identity("application")).add(1, 1, None, 2, 3, 0)
    assert ProgramRecord(tmp_path, "app").counts()["sent"] == 0


def test_rows_of_programs_are_marked_unpaced_and_those_of_our_clients_paced(tmp_path: Path) -> None:
    folder = RunFolder.create("test", seed=1, out=tmp_path / "run")
    recorder = Recorder(Settings(raw=str(folder.raw), name="app", host="h2", instance=3))
    sends = recorder.sends()
    assert sends is not None
    sends.add("in", b"k", b"x")
    own = SentLog(folder.raw / "sent.gen.1.1.journal", Identity("gen"))
    own.add(5, 6, None, 2, 3, own.number("in"))
    recorder.note("client", library="aiokafka", role="producer")
    recorder.note_unrecorded("kafka-python 9", "this version is not known", "another one")
    (folder.raw / "program.app.3.torn.jsonl").write_text('{"event": "client"')
    seal(folder)
    rows = {row["producer"]: row for row in read_table(folder.data, "sent").to_pylist()}
    assert (rows["app"]["paced"], rows["gen"]["paced"]) == (False, True)
    assert rows["app"]["due_ns"] == rows["app"]["sent_ns"]
    assert rows["app"]["key_hash"] is not None
    events = [event for event in folder.read_events() if event["event"] in ("observed", "unobserved")]
    assert [(event["component"], event["host"], event["instance"]) for event in events] == [("app", "h2", 3)] * 2
    assert events[1]["remedy"] == "another one"


def test_notes_are_read_line_by_line(tmp_path: Path) -> None:
    lines = [json.dumps({"event": "loaded", "at_ns": 1}), "no json", "[]", json.dumps({"at_ns": 2})]
    (tmp_path / "program.a.1.9-9.jsonl").write_text("\n".join(lines))
    assert list(read_notes(tmp_path)) == [{"event": "loaded", "at_ns": 1}]
    assert list(read_notes(tmp_path / "none")) == []


def test_what_a_program_wants_to_read_and_where_it_began_is_followed_from_its_notes(tmp_path: Path) -> None:
    recorder, record = Recorder(Settings(raw=str(tmp_path), name="app")), ProgramRecord(tmp_path, "app")
    Recorder(Settings(raw=str(tmp_path), name="app.2")).note("subscribed", group="other", topics=["elsewhere"])
    recorder.note("client", role="consumer", group="g", isolation="read_committed")
    recorder.note("subscribed", group="g", topics=["in", "^more.*"])
    recorder.note("assigned", group="g", partitions=[("in", 0, -1001), ("in", 1, -1001)])
    group = record.groups()["g"]
    assert (group.topics, group.positions, group.isolation) == ({"in"}, {}, "read_committed")
    recorder.note("began", group="g", partitions=[("in", 0, 40)])
    recorder.note("began", group="g", partitions=[("in", 1, -1)])
    assert {place: at[1] for place, at in record.groups()["g"].positions.items()} == {("in", 0): 40}
    receipts = recorder.receipts("g")
    assert receipts is not None
    receipts.add(time.monotonic_ns(), "in", 0, 41, -1, None, b"x", None)
    assert {place: at[1] for place, at in record.groups()["g"].positions.items()} == {("in", 0): 42}
    assert record.groups().keys() == {"g"}


def test_a_group_reads_uncommitted_messages_when_one_of_its_members_does(tmp_path: Path) -> None:
    recorder, record = Recorder(Settings(raw=str(tmp_path), name="app")), ProgramRecord(tmp_path, "app")
    for isolation in ("read_committed", "read_uncommitted", "read_committed"):
        recorder.note("client", role="consumer", group="g", isolation=isolation)
    assert record.groups()["g"].isolation == "read_uncommitted"
