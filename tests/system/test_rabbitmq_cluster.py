"""Clusters of RabbitMQ that are cut in two, and published programs that speak AMQP themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream2gym.record.schemas import read_table
from tests.support.rabbitmq import need_rabbitmq
from tests.system.conftest import Running, Starter

pytestmark = [pytest.mark.long, pytest.mark.timeout(500)]

# The shop is on the side of one node, whoever reads on the side of the others.
SPLIT = """\
s2g: 1
name: split
topology: {{kind: star, hosts: {nodes}, latency: 1 ms}}
brokers:
  - {{on: "h{{n}}", copies: {nodes}, type: rabbitmq, partition_handling: {mode}, config: {{net_ticktime: 8}}}}
topics: [{{name: orders, queue: {queue}, replicas: {nodes}, leader: h1}}]
producers: [{{name: shop, on: h1, topic: orders, rate: 50/s, size: 50 B, acks: all}}]
consumers:
  - {{name: billing, on: h2, topics: [orders], group: billing}}
  - {{name: shipping, on: h2, topics: [orders], group: shipping}}
time: 50 s
drain: 30 s
faults:
  - {{name: split, do: partition, groups: [[h1], [{others}]], at: 5 s, for: 22 s}}
{more}expect: [lost == 0]
"""
# What RabbitMQ's documentation tells an administrator to do with the side that is not trusted.
START_AGAIN = "  - {name: remedy, do: restart, on: broker-h1, at: 32 s, down: 1 s}\n"


@pytest.fixture(autouse=True)
def rabbitmq() -> None:
    need_rabbitmq()


def verdict_of(running: Running) -> dict[str, Any]:
    return json.loads((running.path / "verdict.json").read_text())  # type: ignore[no-any-return]


def split(starter: Starter, *, mode: str, queue: str, nodes: int, more: str = "") -> Running:
    others = ", ".join(f"h{number}" for number in range(2, nodes + 1))
    text = SPLIT.format(mode=mode, queue=queue, nodes=nodes, others=others, more=more)
    running = starter.start(starter.write(text), "--no-report")
    running.end(400)
    return running


def check_that_loss_was_found(running: Running) -> None:
    """What the side of the shop acknowledged while it was cut off is lost, and the audit has counted it."""
    [judged] = verdict_of(running)["judgements"]
    assert judged["outcome"] == "fail", running.output
    assert "acknowledged at" in judged["evidence"][0]
    sent = read_table(running.path / "data", "sent").to_pylist()
    received = read_table(running.path / "data", "received").to_pylist()
    acknowledged = {row["seq"] for row in sent if row["status"] == "acked"}
    missing = 0
    for group in ("billing", "shipping"):
        missing += len(acknowledged - {row["seq"] for row in received if row["group"] == group})
    assert judged["measured"] == missing
    assert missing > 100


def test_a_cluster_that_heals_itself_loses_what_the_losing_side_acknowledged_and_the_audit_finds_it(
    starter: Starter,
) -> None:
    check_that_loss_was_found(split(starter, mode="autoheal", queue="classic", nodes=2))


def test_a_cluster_that_ignores_the_partition_loses_it_when_the_cut_off_node_is_started_again(
    starter: Starter,
) -> None:
    check_that_loss_was_found(split(starter, mode="ignore", queue="classic", nodes=2, more=START_AGAIN))


def test_until_then_it_is_in_flight_where_no_consumer_looks_and_nobody_calls_it_lost(starter: Starter) -> None:
    running = split(starter, mode="ignore", queue="classic", nodes=2)
    [judged] = verdict_of(running)["judgements"]
    assert judged["outcome"] == "unknown", running.output
    assert judged["measured"] == 0
    assert {event["group"]: event["left"] > 100 for event in running.events("queue-end")} == {
        "billing": True,
        "shipping": True,
    }


def test_a_quorum_queue_loses_nothing_in_the_same_partition(starter: Starter) -> None:
    running = split(starter, mode="pause_minority", queue="quorum", nodes=3)
    [judged] = verdict_of(running)["judgements"]
    assert judged["outcome"] == "pass", running.output
    assert judged["measured"] == 0


# Nobody tells a program when the others are ready: these tell each other by files.
PRODUCER = """\
import os, sys, time, pika
(host,) = sys.argv[1:]
connection = pika.BlockingConnection(pika.ConnectionParameters("localhost", 5672))
channel = connection.channel()
channel.exchange_declare("topic_logs", "topic")
while not all(os.path.exists(f"logs/output/cons/ready-{number}") for number in (1, 2)):
    time.sleep(0.1)
for number in range(50):
    channel.basic_publish("topic_logs", f"topic.topic-{host[1:]}", f"{host} {number}".encode())
    time.sleep(0.02)
open(f"logs/output/prod/prod-{host[1:]}.log", "w").write("50")
"""
CONSUMER = """\
import sys, pika
(host,) = sys.argv[1:]
connection = pika.BlockingConnection(pika.ConnectionParameters("localhost", 5672))
channel = connection.channel()
channel.exchange_declare("topic_logs", "topic")
queue = f"queue-{host[1:]}"
channel.queue_declare(queue, durable=True, arguments={"x-queue-type": "stream"})
channel.queue_bind(queue, "topic_logs", "topic.#")
open(f"logs/output/cons/ready-{host[1:]}", "w")
channel.basic_qos(prefetch_count=100)
log = open(f"logs/output/cons/cons-{host[1:]}.log", "w", buffering=1)
def received(channel, method, properties, body):
    log.write(body.decode() + "\\n")
    channel.basic_ack(method.delivery_tag)
channel.basic_consume(queue, received, arguments={"x-stream-offset": "first"})
channel.start_consuming()
"""


def test_a_published_file_with_rmq_runs_its_custom_programs_beside_their_brokers(
    starter: Starter, tmp_path: Path
) -> None:
    (tmp_path / "p.py").write_text(PRODUCER)
    (tmp_path / "c.py").write_text(CONSUMER)
    (tmp_path / "producer.yaml").write_text("producerPath: p.py\nproducerInstances: 1\n")
    (tmp_path / "consumer.yaml").write_text("consumerPath: c.py\nconsumerInstances: 1\n")
    data = (
        '<data key="brokerType">rMQ</data><data key="prodType">CUSTOM</data><data key="prodCfg">producer.yaml</data>'
        '<data key="consType">CUSTOM</data><data key="consCfg">consumer.yaml</data>'
    )
    nodes = "".join(f'<node id="h{number}">{data}</node>' for number in (1, 2)) + '<node id="s1"/>'
    edges = "".join(f'<edge source="s1" target="h{number}"/>' for number in (1, 2))
    graph = f'<graphml><graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'
    running = starter.start(starter.write(graph, "input.graphml"), "--no-report", "--time", "25")
    assert running.end(500) == 0, running.output
    for number in (1, 2):
        lines = (running.path / f"work/logs/output/cons/cons-{number}.log").read_text().splitlines()
        assert sorted(lines) == sorted(f"h{host} {count}" for host in (1, 2) for count in range(50))
