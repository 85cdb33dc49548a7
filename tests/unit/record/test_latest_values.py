"""The latest values that consumers received: bounded, cut off, and kept when a run is sealed."""

from __future__ import annotations

import json
from pathlib import Path

from stream2gym.record.latest_values import EVERY_NS, KEPT, LONGEST, SEALED, LatestValues, seal_values


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_last_messages_are_written_now_and_then(tmp_path: Path) -> None:
    values = LatestValues(tmp_path / "received.see.1.1.values")
    assert values.is_due(0)
    values.write([(("t", 0, offset), None, str(offset).encode()) for offset in range(20)], 0)
    assert not values.is_due(EVERY_NS // 2)
    assert values.is_due(2 * EVERY_NS)
    values.close()
    assert not values.is_due(10 * EVERY_NS)
    rows = read(tmp_path / "received.see.1.1.values")
    assert [row["offset"] for row in rows] == list(range(20 - KEPT, 20))
    assert rows[-1] == {"at_ns": 0, "topic": "t", "partition": 0, "offset": 19, "key": None, "value": "19"}


def test_long_values_are_cut_off_and_bytes_become_text(tmp_path: Path) -> None:
    values = LatestValues(tmp_path / "x.values")
    values.write([(("t", 0, 1), b"\xff", "ä".encode() * 5000)], 0)
    [row] = read(tmp_path / "x.values")
    assert row["key"] == "\ufffd"
    assert len(str(row["value"])) == LONGEST


def test_a_long_run_writes_ever_less_often(tmp_path: Path) -> None:
    values = LatestValues(tmp_path / "x.values")
    now_ns = 0
    for _ in range(200_000):
        now_ns += EVERY_NS
        if values.is_due(now_ns):
            values.write([(("t", 0, offset), None, b"x" * 1000) for offset in range(KEPT)], now_ns)
    assert (tmp_path / "x.values").stat().st_size < 16 << 20, "more than a day of the longest values"


def test_sealing_keeps_the_values_of_all_consumers(tmp_path: Path) -> None:
    raw, data = tmp_path / "raw", tmp_path / "data"
    raw.mkdir()
    data.mkdir()
    seal_values(raw, data)
    assert not (data / SEALED).exists()
    (raw / "received.a.1.1.values").write_text('{"at_ns": 1}\n')
    (raw / "received.b.1.1.values").write_text('{"at_ns": 2}\n')
    seal_values(raw, data)
    assert [row["at_ns"] for row in read(data / SEALED)] == [1, 2]


def test_a_folder_that_cannot_be_written_to_does_no_harm(tmp_path: Path) -> None:
    values = LatestValues(tmp_path / "no" / "such" / "folder.values")
    assert not values.is_due(0)
    values.close()
