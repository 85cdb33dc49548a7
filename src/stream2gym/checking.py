"""For programs that check results: what topics, tables and sources held, and how to say what differs.

    from stream2gym.checking import compare, topic

    compare(expected={...}, found={...})

A check runs when the load is over, outside the emulated network, with the run's data written down in files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

SHOWN = 10


def _dump() -> Path:
    return Path(os.environ["S2G_DUMP"])


def topic(name: str) -> list[dict[str, Any]]:
    """Every message that Kafka holds: partition, offset, time_ms, key, value; in the order of each partition."""
    return _rows(_dump() / "topics" / f"{name}.jsonl")


def values(name: str) -> list[str]:
    """The values of a topic."""
    return [message["value"] for message in topic(name)]


def objects(name: str) -> list[dict[str, Any]]:
    """The values of a topic that holds JSON."""
    return [json.loads(value) for value in values(name)]


def table(store: str, name: str) -> list[dict[str, Any]]:
    """Every row of a table."""
    return _rows(_dump() / "tables" / f"{store}.{name}.jsonl")


def lines(source: str) -> list[str]:
    """Every line that a socket source has sent."""
    return (Path(os.environ["S2G_RUN"]) / "work" / source / "lines.txt").read_text("utf-8").splitlines()


def compare(expected: Mapping[Hashable, Any], found: Mapping[Hashable, Any]) -> int:
    """Say what is missing, what differs and what is too much; returns how many results are wrong.

    Nothing expected at all is no success: a check that compares nothing says nothing about mismatches.
    """
    wrong = [key for key in expected if key not in found or found[key] != expected[key]]
    wrong += [key for key in found if key not in expected]
    for key in wrong[:SHOWN]:
        print(f"{key}: expected {expected.get(key, 'nothing')}, found {found.get(key, 'nothing')}")
    said = {"compared": len(expected), "mismatches": len(wrong)}
    if not expected:
        print("there is nothing to compare with")
        del said["mismatches"]
    print(f"S2G {json.dumps(said)}", flush=True)
    return len(wrong)


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
