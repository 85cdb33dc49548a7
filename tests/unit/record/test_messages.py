"""How a message is recognised."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stream2gym.record.messages import (
    LANE_BITS,
    MOST_INSTANCES,
    MOST_STARTS,
    first_seq,
    hash64,
    make_header_format,
    parse_header,
    value_hasher,
)


def test_the_header_says_producer_and_number() -> None:
    assert make_header_format("gen-1") % 42 == b"gen-1:42"
    assert parse_header(b"gen-1:42") == ("gen-1", 42)


def test_a_foreign_header_is_nobodys() -> None:
    for value in (None, b"", b"gen", b"gen:", b":1", b"gen:x1", b"gen:-1", b"\xff:1", b"x" * 500 + b":1"):
        assert parse_header(value) is None


def test_a_header_with_a_number_that_no_record_can_hold_is_nobodys() -> None:
    assert parse_header(b"gen:%d" % ((1 << 63) - 1)) == ("gen", (1 << 63) - 1)
    assert parse_header(b"gen:%d" % (1 << 63)) is None
    assert parse_header(b"gen:" + b"9" * 5000) is None


def test_instances_and_restarts_never_share_a_number() -> None:
    starts = [*range(1, 20), 128, 129, 130, 256, 257, 1000, MOST_STARTS]
    firsts = {first_seq(instance, start) for instance in (*range(1, 50), MOST_INSTANCES) for start in starts}
    assert len(firsts) == 50 * len(starts)
    assert first_seq(1, 1) == 0
    assert min(b - a for a, b in zip(sorted(firsts), sorted(firsts)[1:], strict=False)) >= 1 << LANE_BITS
    assert max(firsts) + (1 << LANE_BITS) - 1 < 1 << 63


def test_every_start_of_one_producer_has_numbers_that_a_record_can_hold() -> None:
    assert len({first_seq(1, start) for start in range(1, MOST_STARTS + 1)}) == MOST_STARTS >= 1000
    assert all(0 <= first_seq(3, start) < 1 << 63 for start in range(1, MOST_STARTS + 1))


def test_the_first_128_starts_have_the_numbers_of_earlier_records() -> None:
    for instance, start in ((1, 2), (7, 1), (3, 128)):
        assert first_seq(instance, start) == ((start - 1) << 16 | (instance - 1)) << 40


def test_there_is_no_number_beyond_the_last_start() -> None:
    for instance, start in ((1, MOST_STARTS + 1), (MOST_INSTANCES + 1, 1), (1, 0)):
        with pytest.raises(ValueError, match="no sequence numbers"):
            first_seq(instance, start)


def test_a_hash_is_the_same_in_every_process() -> None:
    code = "from stream2gym.record.messages import hash64; print(hash64(b'hello'))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == hash64(b"hello")


def test_hashes_fit_64_signed_bits_and_tell_similar_messages_apart() -> None:
    hashes = {hash64(b"01%06daaaaaa" % n) for n in range(100_000)}
    assert len(hashes) == 100_000
    assert all(-(1 << 63) <= value < 1 << 63 for value in hashes)


def test_a_field_of_a_value_can_stand_for_all_of_it() -> None:
    by_id = value_hasher("json:$.ride.id")
    assert by_id(b'{"ride": {"id": "a7"}, "x": 1}') == by_id(b'{"x": 2, "ride": {"id": "a7", "y": 0}}')
    assert by_id(b'{"ride": {"id": 5}}') == hash64(b"5")
    assert by_id(b"not json") == hash64(b"not json")
    assert value_hasher("value")(b"abc") == hash64(b"abc")
