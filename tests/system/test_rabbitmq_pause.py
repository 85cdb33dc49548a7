"""An ordinary user runs RabbitMQ whose node is paused and then killed, with and without acknowledgements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream2gym.record.schemas import read_table
from tests.support.rabbitmq import erlang_processes, need_rabbitmq
from tests.support.users import User, with_software
from tests.system.conftest import Starter

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

PAUSED_S, GOES_ON_S = 3.0, 7.0
EXPERIMENT = """\
s2g: 1
name: paused
topology: {kind: star, hosts: 3, latency: 1 ms}
brokers: [{on: h1, type: rabbitmq}]
topics: [orders, {name: gossip, queue: classic}]
producers:
  - {name: shop, on: h2, topic: orders, rate: 50/s, size: 50 B, acks: all}
  - {name: crier, on: h2, topic: gossip, rate: 50/s, size: 50 B, acks: 0}
consumers:
  - {name: billing, on: h3, topics: [orders]}
  - {name: listener, on: h3, topics: [gossip]}
time: 18 s
drain: 30 s
faults:
  - {name: pause, do: pause, on: broker-h1, at: 3 s, for: 4 s}
  - {name: crash, do: restart, on: broker-h1, at: 11 s, down: 1 s}
expect: [lost(topic=orders) == 0]
"""
NS = 1_000_000_000
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def run(users: dict[str, User], tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_rabbitmq()
    user = with_software(users["ordinary"], "rabbitmq")
    before = erlang_processes()
    folder = Path(user.env.get("HOME", tmp_path_factory.mktemp("paused"))) / "paused"
    folder.mkdir()
    folder.chmod(0o777)
    starter = Starter(folder, user)
    running = starter.start(starter.write(EXPERIMENT), "--no-report")
    try:
        assert running.end(300) == 0, running.output
    finally:
        starter.close()
    assert erlang_processes() <= before
    return running.path


def rows(run: Path, table: str, topic: str) -> Rows:
    return [row for row in read_table(run / "data", table).to_pylist() if row["topic"] == topic]


def test_nothing_passes_a_node_that_is_paused_and_all_of_it_comes_afterwards(run: Path) -> None:
    received = rows(run, "received", "orders")
    paused = [row for row in received if (PAUSED_S + 0.5) * NS < row["at_ns"] < GOES_ON_S * NS]
    assert paused == []
    due = {row["seq"]: row["due_ns"] for row in rows(run, "sent", "orders")}
    assert max(row["at_ns"] - due[row["seq"]] for row in received) > 3 * NS
    acknowledged = {row["seq"] for row in rows(run, "sent", "orders") if row["status"] == "acked"}
    assert len(acknowledged) > 500
    assert acknowledged <= {row["seq"] for row in received}


def test_without_acknowledgements_nobody_is_told_what_was_lost_and_the_audit_says_so(run: Path) -> None:
    sent = rows(run, "sent", "gossip")
    assert {row["status"] for row in sent} == {"unconfirmed"}
    missing = {row["seq"] for row in sent} - {row["seq"] for row in rows(run, "received", "gossip")}
    audit = json.loads((run / "analysis.json").read_text())["audit"]
    [row] = [row for row in audit if row["topic"] == "gossip"]
    assert row["lost"] == 0
    assert row["unconfirmed_lost"] + row["in_flight"] == len(missing)
