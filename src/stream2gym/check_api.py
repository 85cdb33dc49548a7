"""For programs that check results: the contents of topics, tables and sources, and a way to report differences.

    from stream2gym.check_api import compare, topic

    compare(expected={...}, found={...})

A check runs after the load, outside the emulated network. The data of the run are in files then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream2gym.packets.round_trips import RoundTrip

SHOWN = 10


def _dump() -> Path:
    return Path(os.environ["S2G_DUMP"])


def topic(name: str) -> list[dict[str, Any]]:
    """Every message of a topic, in the order of each partition: partition, offset, time_ms, key, value."""
    return _rows(_dump() / "topics" / f"{name}.jsonl")


def values(name: str) -> list[str]:
    """The values of a topic."""
    return [message["value"] for message in topic(name)]


def objects(name: str) -> list[dict[str, Any]]:
    """The values of a topic of JSON objects."""
    return [json.loads(value) for value in values(name)]


def table(store: str, name: str) -> list[dict[str, Any]]:
    """Every row of a table."""
    return _rows(_dump() / "tables" / f"{store}.{name}.jsonl")


def lines(source: str) -> list[str]:
    """Every line that a line source has sent."""
    return (Path(os.environ["S2G_RUN"]) / "work" / source / "lines.txt").read_text("utf-8").splitlines()


def round_trips(link: str) -> list[RoundTrip]:
    """The round trips between the host of a link and the brokers, in the order in which they began.

    The experiment names the link under ``capture``, and the link names the host first: ``h1 -- s1``.
    """
    from stream2gym.packets.round_trips import read_round_trips

    run = Path(os.environ["S2G_RUN"])
    planned = json.loads((run / "plan.json").read_text("utf-8"))["network"]["links"]
    (found,) = (one for one in planned if one["name"] == link)
    latency_s = found["backward"]["latency_ms"] / 1e3
    return read_round_trips(run / "captures" / f"{link.replace(' ', '')}.pcap", latency_s)


def compare(expected: Mapping[Hashable, Any], found: Mapping[Hashable, Any]) -> int:
    """Print and report which results are missing, different or unexpected. Returns how many results are wrong.

    If nothing is expected, nothing is reported about mismatches, because a check that compares nothing is no success.
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
