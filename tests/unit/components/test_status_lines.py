"""What processes say: lines, status lines, positions of consumers."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from stream2gym.components.line_reader import LONGEST, LineReader
from stream2gym.components.status_lines import (
    ClientStatus,
    odd_numbers_in,
    parse_status_line,
    samples_in,
    status_listener,
)


def test_lines_reach_their_listener_whole_and_in_order() -> None:
    heard: list[bytes] = []
    done = threading.Event()
    reader = LineReader()

    def hear(line: bytes) -> None:
        heard.append(line)
        if line == b"last":
            done.set()

    fd = reader.open(hear)
    for part in (b"one\ntw", b"o\n\n", b"last"):
        os.write(fd, part)
    os.close(fd)
    assert done.wait(5)
    reader.close()
    assert heard == [b"one", b"two", b"", b"last"]


def test_a_line_without_end_is_cut_and_costs_no_memory() -> None:
    sizes: list[int] = []
    reader = LineReader()
    fd = reader.open(lambda line: sizes.append(len(line)))
    for _ in range(3 * LONGEST // 65536):
        os.write(fd, b"x" * 65536)
    os.close(fd)
    reader.close()
    assert sum(sizes) == 3 * LONGEST
    assert max(sizes) <= LONGEST + 65536


def test_s2g_lines_are_words_and_all_others_go_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    told: list[dict[str, Any]] = []
    listener = status_listener(log, told.append)
    for line in (b'S2G {"event": "x"}', b"hello", b"S2G not json", b"S2G [1]"):
        listener(line)
    assert told == [{"event": "x"}]
    assert log.read_bytes() == b"hello\nS2G not json\nS2G [1]\n"


def test_numbers_that_a_program_reports_are_samples() -> None:
    assert list(samples_in({"metric": "queue", "value": 3})) == [("queue", 3.0)]
    assert list(samples_in({"a": 1, "b": 2.5, "c": "text", "d": True, "at_ns": 9})) == [
        ("a", 1.0),
        ("b", 2.5),
    ]
    assert parse_status_line(b"S2Gx {}") is None


def test_counts_of_a_client_go_on_over_a_restart() -> None:
    status = ClientStatus()
    status.update({"event": "progress", "sent": 10, "acked": 8})
    status.on_start()
    status.update({"event": "progress", "sent": 5})
    assert status.count("sent") == 15
    assert status.count("acked") == 8


def test_a_consumer_knows_what_it_holds_and_how_far_it_is() -> None:
    status = ClientStatus()
    status.update({"event": "assigned", "partitions": [["t", 0, 5], ["t", 1, 0]]})
    status.update({"event": "progress", "received": 3, "positions": [["t", 0, 8]]})
    status.update({"event": "revoked", "partitions": [["t", 1]]})
    assert status.ready
    assert status.assigned() == {("t", 0)}
    assert status.positions() == {("t", 0): 8, ("t", 1): 0}


def test_what_is_no_finite_number_is_no_sample_and_is_named() -> None:
    report = parse_status_line(b'S2G {"a": NaN, "b": 2, "c": -Infinity, "d": true}')
    assert report is not None
    assert list(samples_in(report)) == [("b", 2.0)]
    assert odd_numbers_in(report) == ["a", "c"]
