"""How a message is recognised."""

from __future__ import annotations

import subprocess
import sys

from stream2gym.record.messages import first_seq, hash64, header_value, parse_header, value_hasher


def test_the_header_says_producer_and_number() -> None:
    assert header_value("gen-1", 42) == b"gen-1:42"
    assert parse_header(b"gen-1:42") == ("gen-1", 42)


def test_a_foreign_header_is_nobodys() -> None:
    for value in (None, b"", b"gen", b"gen:", b"gen:x1", b"\xff:1"):
        assert parse_header(value) is None


def test_instances_and_restarts_never_share_a_number() -> None:
    firsts = {first_seq(instance, start) for instance in range(1, 50) for start in range(1, 20)}
    assert len(firsts) == 49 * 19
    assert first_seq(1, 1) == 0
    assert min(b - a for a, b in zip(sorted(firsts), sorted(firsts)[1:], strict=False)) == 1 << 40
    assert max(firsts) < 1 << 63


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
