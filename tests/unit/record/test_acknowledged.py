"""What was acknowledged so far, place by place, as the journals of producers say it."""

from __future__ import annotations

from pathlib import Path

from stream2gym.record.acknowledged import read_acknowledged
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import ACKED, DELIVERED, FAILED, UNCONFIRMED
from stream2gym.record.journal_writers import SentLog


def journal(folder: RunFolder, name: str, topic: str, *reports: tuple[int, int, int]) -> None:
    """A producer's journal with the status, partition and offset of each message; left open, as after SIGKILL."""
    path, identity = folder.new_journal("sent", name)
    log = SentLog(path, identity)
    number = log.number(topic)
    for status, partition, offset in reports:
        row = log.add(1, 1, None, 0, 10, number)
        if status:
            log.report(row, status, 5, partition, offset)


def test_the_furthest_acknowledged_offset_of_each_partition_is_found(tmp_path: Path) -> None:
    folder = RunFolder.create("x", seed=1, base=tmp_path)
    journal(folder, "a", "in", (ACKED, 0, 4), (ACKED, 1, 7), (ACKED, 0, 5), (0, 0, 0), (FAILED, 0, 99))
    journal(folder, "a", "in", (ACKED, 0, 9))
    journal(folder, "b", "other", (ACKED, 0, 1), (DELIVERED, 0, 2))
    found = read_acknowledged(folder.raw)
    assert found.ends == {("in", 0): 10, ("in", 1): 8, ("other", 0): 2}
    assert (found.unconfirmed, found.has_gaps) == (set(), False)


def test_messages_that_nobody_acknowledges_are_told_apart(tmp_path: Path) -> None:
    folder = RunFolder.create("x", seed=1, base=tmp_path)
    journal(folder, "a", "in", (UNCONFIRMED, 0, -1))
    found = read_acknowledged(folder.raw)
    assert (found.ends, found.unconfirmed) == ({}, {"in"})


def test_a_journal_that_cannot_be_read_is_a_gap(tmp_path: Path) -> None:
    folder = RunFolder.create("x", seed=1, base=tmp_path)
    (folder.raw / "sent.bad.1.1.journal").write_bytes(b"rubbish")
    assert read_acknowledged(folder.raw).has_gaps
