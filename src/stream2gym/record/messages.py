"""How a message is recognised: the ``s2g`` header, sequence numbers, and hashes of keys and values.

Header ``s2g`` is ASCII text ``NAME:SEQ``. A sequence number is unique within a producer's name and is a signed
64-bit number that is not negative. From the highest bit down it holds the lower 7 bits of the start, 16 bits of
the instance, the upper 6 bits of the start, and 34 bits of the message's number within its start (all of them
count from 0). So the first start of a single instance simply counts 0, 1, 2 ..., and the first 128 starts have
the numbers that they have in records of earlier versions. The bits above the message's number are its lane:
within one lane numbers grow in the order of sending.

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
LANE_BITS = 34
INSTANCE_BITS = 16
_LOW_START_BITS = 7
_HIGH_START_BITS = 6
MOST_INSTANCES = 1 << INSTANCE_BITS
MOST_STARTS = 1 << _LOW_START_BITS + _HIGH_START_BITS
_HIGHEST_SEQ = (1 << 63) - 1
# A producer's name has at most 63 characters, a sequence number at most 19.
_LONGEST_HEADER = 128


def first_seq(instance: int, incarnation: int) -> int:
    """The number of the first message of an instance in its n-th start.

    Raises ValueError beyond ``MOST_INSTANCES`` and ``MOST_STARTS``, which the configuration of a producer refuses.
    """
    if not (1 <= instance <= MOST_INSTANCES and 1 <= incarnation <= MOST_STARTS):
        raise ValueError(f"no sequence numbers for start {incarnation} of instance {instance}")
    high, low = divmod(incarnation - 1, 1 << _LOW_START_BITS)
    lane = (low << INSTANCE_BITS | (instance - 1)) << _HIGH_START_BITS | high
    return lane << LANE_BITS


def make_header_format(producer: str) -> bytes:
    """The value of the header of a producer's messages, with ``%d`` in the place of the sequence number."""
    return producer.encode() + b":%d"


def parse_header(value: bytes | None) -> tuple[str, int] | None:
    """Producer and sequence number; None for a header that is not ours.

    Anybody may write a header of this name. What does not name a producer and a number that a record can hold is
    a foreign message, never an error.
    """
    if not value or len(value) > _LONGEST_HEADER:
        return None
    name, _, number = value.rpartition(b":")
    if not name or not name.isascii() or not number.isdigit():
        return None
    seq = int(number)
    return (name.decode("ascii"), seq) if seq <= _HIGHEST_SEQ else None


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
