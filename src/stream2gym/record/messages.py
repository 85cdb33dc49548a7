"""How a message is recognised: the ``s2g`` header, sequence numbers, and hashes of keys and values.

Header ``s2g`` is ASCII text ``NAME:SEQ``. A sequence number is unique within a producer's name: the n-th
message of instance i in its j-th start is ``lane << 40 | n`` with ``lane = (j - 1) << 16 | (i - 1)``, so the
first start of a single instance simply counts 0, 1, 2 ... Within one lane numbers grow in the order of sending.

A hash is CRC-32 and Adler-32 of the bytes side by side in a signed 64-bit number: both are C functions of
zlib, the same in every process and on every machine, and together a third of the price of a cryptographic
one. They recognise messages, they do not protect against anybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from zlib import adler32, crc32

HEADER = "s2g"
LANE_BITS = 40
INSTANCE_BITS = 16


def first_seq(instance: int, incarnation: int) -> int:
    """The number of the first message of an instance in its n-th start."""
    return ((incarnation - 1) << INSTANCE_BITS | (instance - 1)) << LANE_BITS


def header_value(producer: str, seq: int) -> bytes:
    return b"%s:%d" % (producer.encode(), seq)


def parse_header(value: bytes | None) -> tuple[str, int] | None:
    """Producer and sequence number; None for a header that is not ours."""
    if not value:
        return None
    name, colon, number = value.rpartition(b":")
    try:
        return (name.decode("ascii"), int(number)) if colon and number.isdigit() else None
    except UnicodeDecodeError:
        return None


def hash64(data: bytes) -> int:
    """A signed 64-bit hash that is the same in every process."""
    return (crc32(data) - 0x80000000 << 32) | adler32(data)


def value_hasher(by: str) -> Callable[[bytes], int]:
    """How a value is hashed: the whole of it (``value``), or only what ``json:$.a.b`` finds in it.

    So that a message is recognised behind an engine by a field of it: both ends hash that field alone.
    Where the field is missing the whole value is hashed.
    """
    if not by.startswith("json:"):
        return hash64
    steps = [step for step in by.removeprefix("json:").removeprefix("$").split(".") if step]

    def hash_of_field(data: bytes) -> int:
        try:
            found: Any = json.loads(data)
            for step in steps:
                found = found[int(step)] if isinstance(found, list) else found[step]
        except (ValueError, KeyError, TypeError, IndexError):
            return hash64(data)
        text = found if isinstance(found, str) else json.dumps(found, sort_keys=True)
        return hash64(text.encode())

    return hash_of_field
