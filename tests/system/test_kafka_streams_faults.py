"""The exactly-once claim of Kafka Streams under four faults: nothing lost, nothing twice, and who takes over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.play import Played, play, star
from tests.support.streams_programs import CHECK, count_program, counting

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

MESSAGES = 2500
FAULT_S, GONE_S = 5, 10
ONCE = {"guarantee": "exactly-once"}
SESSION = {"statestore.cache.max.bytes": 0, "consumer.session.timeout.ms": 6000}
# What is done to the first of two instances, which is alone on its host.
FAULTS: dict[str, dict[str, Any]] = {
    "killed": {"do": "kill", "on": "first"},
    "cut off": {"do": "down", "on": "h2 -- s1"},
    "paused": {"do": "pause", "on": "first"},
}


def run_with(fault: dict[str, Any], folder: Path, **keys: Any) -> Played:
    """Count 2,500 messages with two instances; the fault lasts longer than the group waits for a member."""
    engines = keys.pop("engines", ({"name": "first", **ONCE}, {"name": "second", **ONCE}))
    timed = {"name": "trouble", "at": f"{FAULT_S} s", "for": f"{GONE_S} s", **fault}
    described = counting(*engines, messages=MESSAGES, faults=[timed], drain="90 s", **keys)
    described["producers"][0]["rate"] = "100/s"
    return play(described, folder, {"Count.java": count_program(), "check.py": CHECK}, at_t0=None)


def check_exactly_once(run: Played) -> None:
    """Every message that Kafka holds was counted once, for a reader of committed messages."""
    assert run.outcome.error is None
    assert run.events("fault-applied")
    assert run.events("fault-failed") == []
    assert run.outcome.counts["acked"] == MESSAGES
    (checked,) = run.events("checked")
    assert checked["mismatches"] == 0
    assert checked["compared"] >= MESSAGES
    received = pq.read_table(run.folder.data / "received.parquet").to_pylist()
    places = [(row["topic"], row["partition"], row["offset"]) for row in received if row["consumer"] == "see"]
    assert len(places) == len(set(places)) == checked["compared"], "the reader got every count, each once"
    (drained,) = run.events("drained")
    assert drained["complete"] is True


def held(run: Played, name: str, between_s: tuple[float, float]) -> list[float]:
    """How many partitions an instance held, as it said itself, in this time of the load."""
    rows = pq.read_table(run.folder.data / "samples.parquet").to_pylist()
    place = ("kafka-streams", f"{name}.counts", "partitions")
    return [
        row["value"]
        for row in rows
        if (row["source"], row["object"], row["metric"]) == place
        and between_s[0] * 1e9 <= row["at_ns"] < between_s[1] * 1e9
    ]


@pytest.mark.parametrize("name", FAULTS)
def test_an_instance_that_is_gone_for_a_while_costs_no_message_and_the_other_takes_over(
    tmp_path: Path, name: str
) -> None:
    run = run_with(FAULTS[name], tmp_path)
    check_exactly_once(run)
    assert held(run, "second", (0, FAULT_S))[-1] == 1, "they share the partitions before"
    assert max(held(run, "second", (FAULT_S, FAULT_S + GONE_S + 5))) == 2, "the other one takes over"
    assert held(run, "first", (FAULT_S + GONE_S, 200))[-1] == 1, "it gets its partition back"
    assert held(run, "second", (FAULT_S + GONE_S, 200))[-1] == 1


def test_a_broker_that_is_killed_costs_no_message(tmp_path: Path) -> None:
    """Three brokers, everything in three copies; the one that leads a partition of the input dies.

    It is gone until others lead its partitions: Kafka misses a broker after 9 s, and later if it was the controller.
    """
    config = {**SESSION, "replication.factor": 3}
    run = run_with(
        {"do": "kill", "on": "leader of in/0", "for": "20 s"},
        tmp_path,
        engines=[{"name": name, "config": config, **ONCE} for name in ("first", "second")],
        topology=star(5),
        brokers=[{"on": host} for host in ("h1", "h4", "h5")],
        topics=[{"name": name, "partitions": 2, "replicas": 3} for name in ("in", "counts")],
    )
    check_exactly_once(run)
    (healed,) = run.events("fault-healed")
    led = [event["at_ns"] for event in run.events("leader", topic="in", partition=0)]
    assert led[0] < healed["at_ns"], "another broker led while it was gone"
    assert run.events("query-failed") == []
    assert run.events("died") == []
