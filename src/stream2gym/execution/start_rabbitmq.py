"""Phases ``brokers`` and ``topics`` of a run with RabbitMQ: form the cluster, make exchanges and queues.

The queues of all groups are there before anything is sent, so that every group is owed every message.
"""

from __future__ import annotations

from stream2gym.components.observer import Observer
from stream2gym.components.rabbitmq_cluster import RabbitMqNode, topic_requests
from stream2gym.errors import StartFailed
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.start_kafka import TOPICS_TIMEOUT_S, explain_failure, wait_for_answer

# For all nodes together, and what each node adds: nodes of a cluster start one after the other.
BROKERS_TIMEOUT_S = 120.0
TIMEOUT_PER_BROKER_S = 30.0


def start_nodes(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Start all nodes at once. They are ready when the observer has found in each what another was told."""
    run.recorder.phase("brokers")
    run.waiter.failure_checks.append(components.find_dead_broker)
    for broker in components.brokers:
        broker.start()
    run.undo.callback(observer.close)
    observer.start(lambda _line: None)
    timeout_s = BROKERS_TIMEOUT_S + TIMEOUT_PER_BROKER_S * len(components.brokers)
    with explain_failure(components.context, components.brokers, "the nodes of RabbitMQ did not form a cluster"):
        question = observer.ask("brokers", timeout_s=timeout_s)
        wait_for_answer(run, question, timeout_s, "the nodes of RabbitMQ to form a cluster")
    for broker in components.brokers:
        broker.seen = True
        run.recorder.tell("ready", component=broker.name, host=broker.host)


def make_queues(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Make the exchange of every topic and the queue of every group, while the interpreters of producers start."""
    run.recorder.phase("topics")
    experiment = components.context.experiment
    nodes = [node for node in components.context.nodes if isinstance(node, RabbitMqNode)]
    topics = topic_requests(experiment, nodes, components.queues)
    creation = observer.ask("create", topics=topics, timeout_s=TOPICS_TIMEOUT_S)
    for producer in components.producers:
        producer.start()
    refused = wait_for_answer(run, creation, TOPICS_TIMEOUT_S, "RabbitMQ to make the queues")["failed"]
    if refused:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in refused.items())
        raise StartFailed(f"RabbitMQ refused to make {len(refused)} of {len(topics)} topics:\n{reasons}")
