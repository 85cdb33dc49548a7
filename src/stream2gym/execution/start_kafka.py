"""Phases ``brokers``, ``topics`` and ``consumers``: form the cluster, make the topics, get the clients ready.

When they are over, groups hold their partitions and producers wait for t0.
"""

from __future__ import annotations

from stream2gym.components.cluster import kafka_nodes, topic_requests
from stream2gym.components.observer import Observer
from stream2gym.execution.form_cluster import (
    TOPICS_TIMEOUT_S,
    check_topics_made,
    explain_failure,
    form_cluster,
    wait_for_answer,
)
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.monitors.leadership import LeadershipMonitor

# For all brokers together, and what each broker adds.
BROKERS_TIMEOUT_S = 60.0
TIMEOUT_PER_BROKER_S = 5.0
# For all clients together, and what each client adds.
CLIENTS_TIMEOUT_S = 60.0
TIMEOUT_PER_CLIENT_S = 1.0
# Time between two looks at the leaders: at least the first, longer where there are many brokers to ask.
WATCH_EVERY_S = 0.1
WATCH_EVERY_PER_BROKER_S = 0.02


def start_brokers(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Start all brokers at once. They are ready when the observer has seen each of them in the cluster."""
    leadership = LeadershipMonitor(run.recorder.sample, run.recorder.tell)
    timeout_s = BROKERS_TIMEOUT_S + TIMEOUT_PER_BROKER_S * len(components.brokers)
    wanted = [node.id for node in components.context.nodes if node.is_broker]
    form_cluster(
        run, components, observer, who="the brokers", timeout_s=timeout_s, on_line=leadership.on_line, nodes=wanted
    )


def make_topics(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Make all topics in one request, while the interpreters of the producers start."""
    run.recorder.phase("topics")
    experiment, nodes = components.context.experiment, kafka_nodes(components.context.nodes)
    timeout_s = TOPICS_TIMEOUT_S
    creation = observer.ask("create", topics=topic_requests(experiment, nodes), timeout_s=timeout_s)
    coordinator = observer.ask("coordinate", timeout_s=timeout_s) if experiment.consumers else None
    for producer in components.producers:
        producer.start()
    refused = wait_for_answer(run, creation, timeout_s, "Kafka to make the topics")["failed"]
    check_topics_made("Kafka", refused, len(experiment.topics))
    wanted = {topic.name: (topic.partitions, topic.replicas) for topic in experiment.topics}
    ready = observer.ask("ready", topics=wanted, timeout_s=timeout_s)
    wait_for_answer(run, ready, timeout_s, "every partition to have its leader")
    if coordinator is not None:
        wait_for_answer(run, coordinator, timeout_s, "groups to have a coordinator")
    brokers = {node.id: node.client_address for node in nodes if node.is_broker}
    every_s = max(WATCH_EVERY_S, WATCH_EVERY_PER_BROKER_S * len(brokers))
    observer.ask("watch", every_s=every_s, topics=list(wanted), brokers=brokers)


def start_clients(run: RunControl, components: RunComponents) -> None:
    """Start the consumers; return when they and the producers, which were started before, are ready."""
    run.recorder.phase("consumers")
    for consumer in components.consuming():
        consumer.start()
    clients = components.clients()
    timeout_s = CLIENTS_TIMEOUT_S + TIMEOUT_PER_CLIENT_S * len(clients)
    with explain_failure(components.context, clients, "the clients did not get ready"):
        run.waiter.wait_until(components.are_clients_ready, timeout_s, "the clients to be ready")
    for client in clients:
        run.recorder.tell("ready", component=client.name, host=client.host)
