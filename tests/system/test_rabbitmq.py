"""RabbitMQ as the broker of a run: one node with every kind of queue, killed and started again under load."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stream2gym.errors import CannotHere
from stream2gym.record.schemas import read_table
from stream2gym.software.cache import Cache
from stream2gym.software.rabbitmq_software import find_rabbitmq
from tests.support.rabbitmq import erlang_processes, need_rabbitmq
from tests.support.users import myself
from tests.system.conftest import Starter

EXPERIMENT = """\
s2g: 1
name: queues
topology: {kind: star, hosts: 3, latency: 2 ms}
brokers: [{on: h1, type: rabbitmq}]
topics: [orders, {name: notes, queue: classic}, {name: audit, queue: stream}]
producers:
  - {name: shop, on: h2, topic: orders, rate: 50/s, size: 50 B, keys: 10, acks: all}
  - {name: clerk, on: h2, topic: notes, rate: 50/s, size: 50 B}
  - {name: ledger, on: h2, topic: audit, rate: 50/s, size: 50 B, acks: all}
consumers:
  - {name: billing, on: h3, topics: [orders], group: billing, instances: 2}
  - {name: shipping, on: h3, topics: [orders, notes], group: shipping}
  - {name: auditor, on: h3, topics: [audit]}
time: 14 s
drain: 30 s
faults: [{name: crash, do: restart, on: broker-h1, at: 4 s, down: 1 s}]
expect: [lost(topic=orders) == 0, lost(topic=notes) == 0, offset_gaps(topic=audit) == 0]
"""


@dataclass(frozen=True)
class Ended:
    path: Path
    code: int
    output: str
    left_behind: set[int]

    @property
    def verdict(self) -> dict[str, Any]:
        return json.loads((self.path / "verdict.json").read_text())  # type: ignore[no-any-return]

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.path / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    need_rabbitmq()
    before = erlang_processes()
    starter = Starter(tmp_path_factory.mktemp("rabbitmq"), myself())
    running = starter.start(starter.write(EXPERIMENT), "--no-report")
    try:
        code = running.end(280)
    finally:
        starter.close()
    return Ended(running.path, code, running.output, erlang_processes() - before)


def test_nothing_that_a_queue_acknowledged_is_lost_although_the_broker_was_killed(run: Ended) -> None:
    assert run.code == 0, run.output
    assert [one["outcome"] for one in run.verdict["judgements"]] == ["pass"] * 3
    assert len([event for event in run.events("started") if event["component"] == "broker-h1"]) == 2
    acknowledged = [row for row in read_table(run.path / "data", "sent").to_pylist() if row["status"] == "acked"]
    assert len(acknowledged) > 1000


def test_every_group_received_every_message_of_its_queues(run: Ended) -> None:
    sent = read_table(run.path / "data", "sent").to_pylist()
    received = read_table(run.path / "data", "received").to_pylist()
    acknowledged: dict[str, set[int]] = {}
    for row in sent:
        if row["status"] == "acked":
            acknowledged.setdefault(row["topic"], set()).add(row["seq"])
    for topic, group in (("orders", "billing"), ("orders", "shipping"), ("notes", "shipping")):
        got = {row["seq"] for row in received if (row["topic"], row["group"]) == (topic, group)}
        assert acknowledged[topic] <= got, (topic, group)
    assert {row["instance"] for row in received if row["group"] == "billing"} == {1, 2}, "both read the queue"


def test_only_a_stream_gives_its_messages_offsets(run: Ended) -> None:
    received = read_table(run.path / "data", "received").to_pylist()
    offsets = {topic: [row["offset"] for row in received if row["topic"] == topic] for topic in ("orders", "audit")}
    assert set(offsets["orders"]) == {None}
    assert sorted(set(offsets["audit"])) == list(range(len(set(offsets["audit"]))))
    assert {row["offset"] for row in read_table(run.path / "data", "sent").to_pylist()} == {None}


def test_what_a_stream_acknowledged_and_lost_is_counted(run: Ended) -> None:
    """A node that has just started confirms what is sent to a stream whose writer is not up yet, and drops it."""
    audit = json.loads((run.path / "analysis.json").read_text())["audit"]
    [row] = [row for row in audit if row["topic"] == "audit"]
    sent = read_table(run.path / "data", "sent").to_pylist()
    received = read_table(run.path / "data", "received").to_pylist()
    acknowledged = {one["seq"] for one in sent if one["topic"] == "audit" and one["status"] == "acked"}
    got = {one["seq"] for one in received if one["topic"] == "audit"}
    assert (row["expected"], row["lost"]) == (len(acknowledged), len(acknowledged - got))


def test_the_queues_were_asked_what_is_left_when_their_consumers_had_left(run: Ended) -> None:
    told = {(event["topic"], event["group"]): event["left"] for event in run.events("queue-end")}
    assert told == {("orders", "billing"): 0, ("orders", "shipping"): 0, ("notes", "shipping"): 0}
    [end] = read_table(run.path / "data", "offsets").to_pylist()
    assert end["topic"] == "audit"


def test_neither_a_node_nor_its_name_service_is_left(run: Ended) -> None:
    assert run.left_behind == set()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_bundled_example_passes_with_one_command(tmp_path: Path) -> None:
    need_rabbitmq()
    done = myself().run("run", "rabbitmq", "--out", str(tmp_path / "run"), timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    for expected in ("lost == 0", "delivered == 100 %"):
        assert f"  pass     {expected}" in done.stdout
    assert (tmp_path / "run" / "report.html").stat().st_size > 0


def test_an_experiment_is_refused_with_the_remedy_where_rabbitmq_is_missing(tmp_path: Path) -> None:
    empty = tmp_path / "cache"
    try:
        find_rabbitmq(Cache(empty))
    except CannotHere:
        pass
    else:
        pytest.skip("RabbitMQ is installed on this machine")
    check_refusal(tmp_path, empty, "needs RabbitMQ, which is not on this machine")


def test_an_experiment_is_refused_with_the_remedy_where_erlang_is_missing(tmp_path: Path) -> None:
    if shutil.which("erl") is not None or Path("/usr/lib/erlang/bin/erl").exists():
        pytest.skip("Erlang is installed on this machine")
    server = tmp_path / "cache/rabbitmq/usr/lib/rabbitmq/lib/rabbitmq_server-3.10.8/sbin"
    server.mkdir(parents=True)
    (server / "rabbitmq-server").touch()
    check_refusal(tmp_path, tmp_path / "cache", "there is no Erlang (erl) to run it")


def check_refusal(folder: Path, cache: Path, reason: str) -> None:
    """Nothing was started; the message names what is missing and the remedy."""
    starter = Starter(folder, myself(), {"S2G_CACHE": str(cache)})
    running = starter.start(starter.write(EXPERIMENT))
    assert running.end() == CannotHere.exit_code
    said = " ".join(running.output.split())
    assert reason in said
    assert "s2g setup --rabbitmq" in said
    assert not running.path.exists()
