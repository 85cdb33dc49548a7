"""Which versions of a library we know. Another one runs unrecorded, because it may work in another way."""

from __future__ import annotations

import re

from .recorder import Recorder

# Library: from this version on, below that one.
KNOWN = {
    "confluent-kafka": ((2, 0), (3, 0)),
    "kafka-python": ((2, 0), (4, 0)),
    "aiokafka": ((0, 10), (1, 0)),
}


def is_known(recorder: Recorder, library: str, version: str) -> bool:
    """Whether a library can be recorded; notes it where not."""
    low, high = KNOWN[library]
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if low <= numbers < high:
        return True
    told = [".".join(map(str, bound)) for bound in (low, high)]
    recorder.note_unrecorded(
        f"{library} {version}",
        "this version is not known",
        f"install a version from {told[0]} up to, but not including, {told[1]}",
    )
    return False
