"""Right about loss and duplicates, with real Kafka: what faults do to messages is found, and counted exactly.

Every case fails too when its fault did not hurt.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.api import Result, run

QUICK = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4000,
}


def experiment(**changes: Any) -> dict[str, Any]:
    """Three brokers, a producer at 1000/s, a consumer."""
    return {
        "s2g": 1,
        "name": "faults",
        "topology": {
            "hosts": [f"h{n}" for n in range(1, 6)],
            "switches": ["s1"],
            "links": [f"h{n} -- s1: 1 ms" for n in range(1, 6)],
        },
        "kafka": {"config": QUICK},
        "brokers": [{"on": "h1"}, {"on": "h2"}, {"on": "h3"}],
        "topics": [{"name": "in", "partitions": 3, "replicas": 3, "config": {"min.insync.replicas": 2}}],
        "producers": [producer("gen", "in")],
        "consumers": [{"name": "see", "on": "h5", "topics": ["in"], "group": "g"}],
        "time": "16 s",
        "drain": "30 s",
    } | changes


def producer(name: str, topic: str, **changes: Any) -> dict[str, Any]:
    plain = {"on": "h4", "rate": "1000/s", "size": "100 B", "keys": 100, "acks": "all", "linger": "20 ms"}
    return {"name": name, "topic": topic} | plain | changes


@dataclass(frozen=True)
class Case:
    """A run and what its record says."""

    result: Result

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.result.folder.read_events() if event["event"] == kind]

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.result.table(table).to_pylist()
        return found

    def acked(self, producer: str = "gen") -> set[int]:
        return {r["seq"] for r in self.rows("sent") if r["producer"] == producer and r["status"] == "acked"}

    def got(self, topic: str = "in", group: str = "g") -> list[int]:
        return [r["seq"] for r in self.rows("received") if r["topic"] == topic and r["group"] == group]

    def audited(self, column: str, **wanted: str) -> int:
        assert self.result.analysis is not None
        rows = [r for r in self.result.analysis.audit if all(getattr(r, k) == v for k, v in wanted.items())]
        assert rows
        return sum(getattr(row, column) for row in rows)

    def in_log(self, topic: str = "in") -> int:
        """Kafka's own word: how many messages stand in the topic."""
        return sum(row["end"] - row["start"] for row in self.rows("offsets") if row["topic"] == topic)

    def assert_as_planned(self) -> None:
        assert self.result.error is None
        assert not self.events("fault-failed")
        assert not self.events("fault-skipped")
        assert not self.events("died")


def carry_out(folder: Path, said: dict[str, Any]) -> Case:
    (folder / "experiment.yaml").write_text(yaml.safe_dump(said))
    return Case(run(folder / "experiment.yaml", out=folder / "run", report=False))


KILLED = {"name": "dead", "do": "kill", "on": "leader of in/0", "at": "5 s", "for": "5 s"}
HARMLESS = [
    KILLED,
    {"name": "frozen", "do": "pause", "on": "leader of in/0", "at": "5 s", "for": "5 s"},
    {"name": "alone", "do": "isolate", "on": "leader of in/0", "at": "5 s", "for": "5 s"},
    {"name": "flapping", "do": "flap", "on": "h1 -- s1", "at": "5 s", "for": "6 s", "period": "2 s"},
    {"name": "lossy", "do": "degrade", "on": "* -- s1", "at": "5 s", "for": "6 s", "loss": "5 %"},
    {"name": "oneway", "do": "partition", "groups": [["h1"], ["h2", "h3"]], "one_way": True, "at": "5 s",
     "for": "5 s"},
    {"name": "minority", "do": "partition", "shape": "majority", "at": "5 s", "for": "6 s"},
    {"name": "headless", "do": "kill", "on": "controller", "at": "5 s", "for": "5 s"},
    {"name": "full", "do": "disk-full", "on": "follower of in/0", "at": "5 s", "for": "4 s"},
    {"name": "dark", "do": "switch-down", "on": "s1", "at": "5 s", "for": "3 s"},
    {"name": "headless-group", "do": "kill", "on": "coordinator of g", "at": "5 s", "for": "5 s"},
]  # fmt: skip


ROLLING = [
    {"name": f"roll-{n}", "do": "restart", "on": f"broker-h{n}", "at": f"{at} s", "orderly": True}
    for n, at in ((1, 3), (2, 7), (3, 11))
]


def slowest(case: Case) -> float:
    """The longest time from sending to acknowledgement, in seconds."""
    return max((r["done_ns"] - r["sent_ns"]) / 1e9 for r in case.rows("sent") if r["status"] == "acked")


@pytest.mark.parametrize(
    "fault",
    [pytest.param(f, id=str(f["name"]), marks=[] if f is KILLED else [pytest.mark.long]) for f in HARMLESS],
)
def test_acknowledged_by_all_is_never_lost(tmp_path: Path, fault: dict[str, Any]) -> None:
    assert_nothing_lost(carry_out(tmp_path, experiment(faults=[fault], expect=["lost == 0"])))


@pytest.mark.long
def test_a_rolling_restart_loses_nothing(tmp_path: Path) -> None:
    assert_nothing_lost(carry_out(tmp_path, experiment(faults=ROLLING, expect=["lost == 0"])))


def assert_nothing_lost(case: Case) -> None:
    """And the fault hurt: an election, a replica out of sync, or an acknowledgement that took long."""
    case.assert_as_planned()
    hurt = case.events("leader") or case.events("isr") or slowest(case) > 0.5
    assert hurt
    assert len(case.acked()) >= 10_000
    assert case.acked() <= set(case.got())
    assert case.audited("lost", group="g") == 0
    assert case.result.analysis is not None
    print(f"acked {len(case.acked())}, slowest acknowledgement {slowest(case):.2f} s")
    for row in (*case.result.analysis.faults, *case.result.analysis.recovery):
        print(row)


def test_a_leader_that_dies_before_it_replicates_loses_what_it_acknowledged(tmp_path: Path) -> None:
    said = experiment(
        topics=[{"name": "in", "partitions": 3, "replicas": 3, "leader": "h1"}],
        producers=[producer("gen", "in", acks=1, idempotence=False)],
        faults=[
            {"name": "cut", "do": "partition", "groups": [["h1"], ["h2", "h3"]], "at": "5 s"},
            {"name": "dead", "do": "kill", "on": "broker-h1", "at": "7 s"},
        ],
        expect=["lost == 0"],
    )

    case = carry_out(tmp_path, said)

    case.assert_as_planned()
    assert case.events("leader")
    got = set(case.got())
    lost = case.acked() - got
    print(f"acked {len(case.acked())}, lost {len(lost)}, Kafka holds {case.in_log()}")
    assert len(lost) > 100
    assert case.audited("lost", group="g") == len(lost)
    places = {(row["partition"], row["offset"]) for row in case.rows("received")}
    assert case.in_log() == len(places)
    assert case.result.verdict == "fail"
    assert case.result.analysis is not None
    assert sum(row.lost for row in case.result.analysis.recovery if row.fault == "dead") > 0


def test_lost_acknowledgements_double_messages_unless_the_producer_is_idempotent(tmp_path: Path) -> None:
    topics = [{"name": name, "partitions": 3, "replicas": 1, "leader": "h1"} for name in ("plain", "once")]
    hasty = {"client": {"socket.timeout.ms": 1000, "request.timeout.ms": 1000}, "rate": "500/s"}
    said = experiment(
        brokers=[{"on": "h1"}],
        topics=topics,
        producers=[
            producer("careless", "plain", idempotence=False, **hasty),
            producer("careful", "once", idempotence=True, **hasty),
        ],
        consumers=[
            {"name": "see", "on": "h5", "topics": ["plain", "once"], "group": "g"},
            {"name": "again", "on": "h2", "topics": ["once"], "group": "late", "session_timeout": "6 s"},
        ],
        faults=[
            {"name": "deaf", "do": "partition", "groups": [["h1"], ["h4"]], "one_way": True, "at": "4 s",
             "for": "3 s"},
            {"name": "dead", "do": "kill", "on": "again", "at": "8 s", "for": "1 s"},
        ],
    )  # fmt: skip

    case = carry_out(tmp_path, said)

    case.assert_as_planned()
    doubled = {t: case.audited("duplicated_in_log", topic=t, group="g") for t in ("plain", "once")}
    redelivered = case.audited("redelivered", topic="once", group="late")
    print(f"doubled in the log: {doubled}; redelivered to the killed consumer: {redelivered}")
    assert doubled["plain"] > 0
    assert doubled["once"] == 0
    got = case.got("plain")
    assert len(got) - len(set(got)) == doubled["plain"]
    assert redelivered > 0
    assert case.audited("lost", group="late") == 0
    assert case.acked("careful") <= set(case.got("once", "late"))
