"""The raw record: what a killed writer leaves behind, and what a full disk does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stream2gym.errors import Defect
from stream2gym.record.journal import (
    ACKED,
    HEADER_BYTES,
    LAST_TEXT,
    MANY_TEXTS,
    MARK,
    RECEIVED,
    SENT,
    Identity,
    Journal,
    Reader,
    RecordFull,
)
from stream2gym.wait import wait_until

WRITER = """
import sys
from pathlib import Path
from stream2gym.record.journal import *
journal = Journal(Path(sys.argv[1]), SENT, Identity("gen"))
out = open(sys.argv[2], "wb", buffering=0)
for n in range(10**9):
    row = journal.append(n, n + 1, n + 2, n + 3, 25, journal.number("in"), MARK)
    if n >= 3:
        journal.amend(n - 3, 1, n, n + 4, 0, ACKED)
    if n % 64 == 0:
        out.write(n.to_bytes(8, "little"))
"""


def sent_journal(folder: Path, **options: Any) -> Journal:
    identity = Identity("gen", 2, 3, {"group": "g"})
    return Journal(folder / identity.file_name("sent"), SENT, identity, **options)


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    journal = sent_journal(tmp_path)
    for n in range(5):
        assert journal.append(n, n + 1, -n, n << 40, 25, journal.number("in"), MARK) == n
    journal.amend(1, 7, 99, 1234, 0, ACKED)
    journal.close()
    reader = Reader(journal.path)
    rows = list(reader.rows())
    assert [row["due_ns"] for row in rows] == [0, 1, 2, 3, 4]
    assert (rows[1]["partition"], rows[1]["offset"], rows[1]["done_ns"], rows[1]["status"]) == (
        7,
        99,
        1234,
        ACKED,
    )
    assert rows[2]["status"] == 0
    assert reader.strings() == ["", "in"]
    assert reader.identity == Identity("gen", 2, 3, {"group": "g"})


def test_a_record_grows_chunk_by_chunk_and_takes_reports_for_rows_long_unmapped(tmp_path: Path) -> None:
    journal = sent_journal(tmp_path, rows_per_chunk=4096, kept=2)
    count = 5 * 4096 + 17
    for n in range(count):
        journal.append(n, 0, 0, 0, 0, 0, MARK)
    for n in reversed(range(count)):
        journal.amend(n, 0, n * 2, 0, 0, ACKED)
    journal.close()
    rows = list(Reader(journal.path).rows())
    assert len(rows) == count
    assert all(row["due_ns"] == n and row["offset"] == n * 2 for n, row in enumerate(rows))


def test_one_column_of_a_row_can_be_written_again(tmp_path: Path) -> None:
    journal = sent_journal(tmp_path)
    row = journal.append(1, 2, 3, 4, 5, 0, MARK)
    journal.patch(row, "sent_ns", 77)
    assert next(Reader(journal.path).rows())["sent_ns"] == 77


def test_a_record_that_is_being_written_can_be_read(tmp_path: Path) -> None:
    journal = sent_journal(tmp_path)
    journal.append(1, 1, 1, 1, 1, 0, MARK)
    assert len(list(Reader(journal.path).rows())) == 1
    journal.append(2, 1, 1, 1, 1, 0, MARK)
    assert len(list(Reader(journal.path).rows())) == 2


def test_the_reader_stops_at_a_row_that_was_not_finished(tmp_path: Path) -> None:
    journal = sent_journal(tmp_path)
    journal.append(1, 1, 1, 1, 1, 0, MARK)
    journal.append(2, 1, 1, 1, 1, 0, 0)
    assert [row["due_ns"] for row in Reader(journal.path).rows()] == [1]


def test_a_torn_side_file_costs_only_its_last_text(tmp_path: Path) -> None:
    journal = sent_journal(tmp_path)
    journal.number("a")
    with journal.path.with_suffix(".strings").open("ab") as file:
        file.write(b'"half')
    assert Reader(journal.path).strings() == ["", "a"]


def test_more_texts_than_a_number_can_hold_share_the_last_one(tmp_path: Path) -> None:
    journal = sent_journal(tmp_path)
    numbers = [journal.number(f"text {n}") for n in range(LAST_TEXT + 5)]
    assert numbers[-7:] == [LAST_TEXT - 1, *[LAST_TEXT] * 6]
    assert Reader(journal.path).strings()[LAST_TEXT] == MANY_TEXTS


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    path.write_bytes(b"hello\n")
    with pytest.raises(Defect, match="not a journal"):
        Reader(path)


@pytest.mark.parametrize("attempt", range(3))
def test_sigkill_at_any_moment_loses_no_row(tmp_path: Path, attempt: int) -> None:
    path, said = tmp_path / "sent.gen.1.1.journal", tmp_path / "said"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(said)])
    wait_until(lambda: said.exists() and said.stat().st_size > 0, timeout_s=20, reason="the first row")
    time.sleep(random.Random(attempt).uniform(0.05, 0.3))
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    last_said = int.from_bytes(said.read_bytes()[-8:], "little")
    rows = list(Reader(path).rows())
    assert len(rows) > last_said
    assert all((r["due_ns"], r["value_hash"], r["topic"]) == (n, n + 3, 1) for n, r in enumerate(rows))
    reported = [row["status"] == ACKED for row in rows]
    assert all(reported[: last_said - 3])
    assert all(r["offset"] == n + 3 for n, r in enumerate(rows) if reported[n])


def test_a_full_disk_is_an_error_and_not_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "received.c.1.1.journal", RECEIVED, Identity("c"), rows_per_chunk=4096, kept=1)

    def no_room(_fd: int, _offset: int, _length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", no_room)
    for n in range(4096):
        journal.append(n, 0, 0, 0, 0, 0, 0, 0, 0, 0, MARK)
    with pytest.raises(RecordFull, match="no room left for the record"):
        journal.append(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, MARK)
    assert len(list(Reader(journal.path).rows())) == 4096
    journal.close()
    assert journal.path.stat().st_size == HEADER_BYTES + 4096 * RECEIVED.row_bytes
