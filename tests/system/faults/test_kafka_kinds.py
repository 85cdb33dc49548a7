"""What Kafka's own faults, and brokers that lose their data, do to a real cluster: one run, one after the other.

All are asked for by hand, and Kafka's own word counts: who leads, who replicates, where partitions begin and end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.api import perform, prepare
from stream2gym.errors import S2gError
from stream2gym.execution.drive_load import Load
from stream2gym.execution.fault_server import send_request
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.start_faults import start_faults
from stream2gym.record.schemas import read_table
from stream2gym.wait import wait_until
from tests.support.play import instead_of_faults, star

pytestmark = pytest.mark.timeout(900)  # a crowded machine takes its time
COUNT = 200
PATIENCE_S = 90.0
ON_ONE = ("moved", "cut", "cleared", "gone", "anew")
TOPICS = [
    {"name": "led", "replicas": 3, "leader": "h1"},
    *({"name": name, "replicas": 1, "leader": "h1"} for name in ON_ONE),
    {"name": "kept", "replicas": 1, "leader": "h2"},
    {"name": "wiped", "replicas": 1, "leader": "h3"},
]
EXPERIMENT = {
    "s2g": 1,
    "name": "kafka-kinds",
    "topology": star(4),
    "kafka": {"config": {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}},
    "brokers": [{"on": host, "controller": host == "h1"} for host in ("h1", "h2", "h3")],
    "topics": TOPICS,
    "producers": [
        {"name": f"gen-{topic['name']}", "on": "h4", "topic": topic["name"], "rate": "400/s", "messages": COUNT,
         "size": "20 B", "acks": "all"}
        for topic in TOPICS
    ],
    "time": "20 s",
    "drain": "1 s",
}  # fmt: skip


class Deeds:
    """Does one fault after the other on a thread of its own and keeps what Kafka says after each."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}
        self.problems: list[BaseException] = []
        # Under-replicated partitions over time, as sampled.
        self.under_replicated: list[float] = []

    def __call__(self, run: RunControl, load: Load) -> Deeds:
        assert load.components.observer is not None
        self._folder = run.folder
        self._components = load.components
        self._observer = load.components.observer
        self._faults = start_faults(run, load)
        self._thread = threading.Thread(target=self._try, daemon=True)
        self._thread.start()
        return self

    @property
    def held(self) -> frozenset[str]:
        return frozenset()

    def end_load(self) -> None:
        self._thread.join(4 * PATIENCE_S)

    def close(self) -> None:
        self._faults.close()

    def _try(self) -> None:
        try:
            self._act()
        except BaseException as error:
            self.problems.append(error)

    def _act(self) -> None:
        messages = COUNT * len(TOPICS)
        self._until(lambda: self._components.counts().get("acked") == messages, "every message to be acknowledged")
        self.seen["before"] = {topic: self.kafka(topic) for topic in ("led", "moved", "kept", "wiped")}
        self._do("move-leader", "led", to="broker-h2")
        self._until(lambda: self.leader("led") == self.node("h2"), "the leadership to move")
        self._do("reassign", "moved", replicas=["broker-h2"])
        self._until(lambda: self.kafka("moved")["replicas"] == [self.node("h2")], "the replica to move")
        self.seen["moved"] = self.kafka("moved")
        self._do("delete-records", "cut", share="25 %")
        self._do("delete-records", "cleared")
        self.seen |= {topic: self.kafka(topic) for topic in ("cut", "cleared")}
        self._do("delete-topic", "gone")
        self._until(lambda: self.kafka("gone") == {}, "the topic to be gone")
        self._do("delete-topic", "anew", again=True)
        self._until(lambda: self.kafka("anew").get("end") == 0, "the topic to be there again, empty")
        for topic, host, data in (("kept", "h2", "keep"), ("wiped", "h3", "wipe")):
            self._do("restart", f"broker-{host}", data=data)
            self._until(partial(self._is_led, topic), f"{topic} to be led again")
            self._until(lambda: len(self.kafka("led").get("in_sync", ())) == 3, "all replicas to be in sync again")
            self.seen[topic] = self.kafka(topic)
        self.seen["led"] = self.kafka("led")

    def _do(self, kind: str, target: str, **settings: Any) -> None:
        name = f"{kind}-{target}"
        asked = {"name": name, "do": kind, "on": [target], "settings": settings}
        answer = send_request(self._folder.path, {"do": "apply", "fault": asked})
        assert not answer["failed"], answer
        self._until(lambda: name in self._healed(), f"{name} to be done")

    def _healed(self) -> set[str]:
        events = self._folder.read_events()
        failed = [event["reason"] for event in events if event["event"] == "fault-failed"]
        assert not failed, failed
        return {event["fault"] for event in events if event["event"] == "fault-healed"}

    def _until(self, condition: Callable[[], bool], reason: str) -> None:
        wait_until(condition, timeout_s=PATIENCE_S, reason=reason, every_s=0.2)

    def _is_led(self, topic: str) -> bool:
        return int(self.kafka(topic).get("leader", -1)) >= 0

    def kafka(self, topic: str) -> dict[str, Any]:
        """What Kafka says about the only partition of a topic; empty when there is none or nobody answers."""
        try:
            said = self._observer.query("describe", topics=[topic])["topics"].get(topic, {})
            if "0" not in said:
                return {}
            leader, replicas, in_sync = said["0"]
            state = {"leader": leader, "replicas": replicas, "in_sync": in_sync}
            rows = self._observer.query("offsets", topics=[topic])["offsets"] if leader >= 0 else []
        except S2gError:
            return {}
        return state | {key: value for _, _, start, end in rows for key, value in (("start", start), ("end", end))}

    def leader(self, topic: str) -> int | None:
        return self.kafka(topic).get("leader")

    def node(self, host: str) -> int:
        return next(node.id for node in self._components.context.nodes if node.host == host)


@pytest.fixture(scope="module")
def deeds(tmp_path_factory: pytest.TempPathFactory) -> Deeds:
    folder: Path = tmp_path_factory.mktemp("kafka-kinds")
    (folder / "experiment.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    planned, loaded = prepare(folder / "experiment.yaml")
    made = Deeds()
    with instead_of_faults(made):
        result = perform(planned, loaded, out=folder / "run", report=False)
    assert made.problems == []
    assert result.error is None
    made.under_replicated = [
        row["value"]
        for row in sorted(read_table(folder / "run" / "data", "samples").to_pylist(), key=lambda row: row["at_ns"])
        if (row["source"], row["object"], row["metric"]) == ("kafka", "cluster", "under_replicated")
    ]
    return made


def test_leadership_moves_to_the_named_broker_and_loses_nothing(deeds: Deeds) -> None:
    assert deeds.seen["before"]["led"]["leader"] == deeds.node("h1")
    assert (deeds.seen["led"]["start"], deeds.seen["led"]["end"]) == (0, COUNT)


def test_a_replica_moves_with_its_records(deeds: Deeds) -> None:
    assert deeds.seen["before"]["moved"]["replicas"] == [deeds.node("h1")]
    assert deeds.seen["moved"]["replicas"] == [deeds.node("h2")]
    assert (deeds.seen["moved"]["start"], deeds.seen["moved"]["end"]) == (0, COUNT)


def test_a_share_of_the_oldest_records_is_gone_or_all_are(deeds: Deeds) -> None:
    assert (deeds.seen["cut"]["start"], deeds.seen["cut"]["end"]) == (COUNT // 4, COUNT)
    assert (deeds.seen["cleared"]["start"], deeds.seen["cleared"]["end"]) == (COUNT, COUNT)


def test_a_broker_that_comes_back_with_its_data_has_everything(deeds: Deeds) -> None:
    assert deeds.seen["kept"]["leader"] == deeds.node("h2")
    assert (deeds.seen["kept"]["start"], deeds.seen["kept"]["end"]) == (0, COUNT)


def test_a_broker_that_comes_back_without_its_data_has_lost_what_it_alone_held(deeds: Deeds) -> None:
    assert deeds.seen["before"]["wiped"]["end"] == COUNT
    assert (deeds.seen["wiped"]["leader"], deeds.seen["wiped"]["end"]) == (deeds.node("h3"), 0)
    assert sorted(deeds.seen["led"]["in_sync"]) == sorted(map(deeds.node, ("h1", "h2", "h3")))


def test_partitions_lack_a_replica_while_a_broker_is_away_and_then_no_longer(deeds: Deeds) -> None:
    values = deeds.under_replicated
    assert values[0] == 0
    rises = [number for number, (before, now) in enumerate(pairwise(values)) if now > before == 0]
    assert len(rises) >= 2, "each of the two brokers that were restarted"
    assert values[-1] == 0, "topics that were deleted meanwhile do not count"
