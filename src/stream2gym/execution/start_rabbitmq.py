"""Phases ``brokers`` and ``topics`` of a run with RabbitMQ: form the cluster, make exchanges and queues.

The queues of all groups are there before anything is sent, so that every group is owed every message.
"""

from __future__ import annotations

from stream2gym.components.observer import Observer
from stream2gym.components.rabbitmq_cluster import RabbitMqNode, topic_requests
from stream2gym.execution.form_cluster import TOPICS_TIMEOUT_S, check_topics_made, form_cluster, wait_for_answer
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl

# For all nodes together, and what each node adds: nodes of a cluster start one after the other.
BROKERS_TIMEOUT_S = 120.0
TIMEOUT_PER_BROKER_S = 30.0


def start_nodes(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Start all nodes at once. They are ready when the observer has found in each what another was told."""
    timeout_s = BROKERS_TIMEOUT_S + TIMEOUT_PER_BROKER_S * len(components.brokers)
    form_cluster(run, components, observer, who="the nodes of RabbitMQ", timeout_s=timeout_s)


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
    check_topics_made("RabbitMQ", refused, len(topics))
