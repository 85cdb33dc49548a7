"""Phases ``brokers``, ``topics`` and ``consumers``: form the cluster, make the topics, get the clients ready.

When they are over, groups hold their partitions and producers wait for t0.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.cluster import kafka_nodes, topic_requests
from stream2gym.components.component_process import ComponentProcess
from stream2gym.components.observer import Observer, Question
from stream2gym.components.run_context import RunContext, end_of_log
from stream2gym.errors import StartFailed
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.monitors.leadership import LeadershipMonitor

# For all brokers together, and what each broker adds.
BROKERS_TIMEOUT_S = 60.0
TIMEOUT_PER_BROKER_S = 5.0
TOPICS_TIMEOUT_S = 60.0
# For all clients together, and what each client adds.
CLIENTS_TIMEOUT_S = 60.0
TIMEOUT_PER_CLIENT_S = 1.0
# What the observer may take to answer beyond the time that it gives the cluster.
ANSWER_SPARE_S = 5.0
# Time between two looks at the leaders: at least the first, longer where there are many brokers to ask.
WATCH_EVERY_S = 0.1
WATCH_EVERY_PER_BROKER_S = 0.02
# How many logs the message of a failed start shows.
SHOWN_LOGS = 3


def start_brokers(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Start all brokers at once. They are ready when the observer has seen each of them in the cluster."""
    run.recorder.phase("brokers")
    run.waiter.failure_checks.append(components.find_dead_broker)
    for broker in components.brokers:
        broker.start()
    leadership = LeadershipMonitor(run.recorder.sample, run.recorder.tell)
    run.undo.callback(observer.close)
    observer.start(leadership.on_line)
    timeout_s = BROKERS_TIMEOUT_S + TIMEOUT_PER_BROKER_S * len(components.brokers)
    wanted = [node.id for node in components.context.nodes if node.is_broker]
    with explain_failure(components.context, components.brokers, "the brokers did not form a cluster"):
        question = observer.ask("brokers", nodes=wanted, timeout_s=timeout_s)
        wait_for_answer(run, question, timeout_s, "the brokers to form a cluster")
    for broker in components.brokers:
        broker.seen = True
        run.recorder.tell("ready", component=broker.name, host=broker.host)


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
    if refused:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in refused.items())
        raise StartFailed(f"Kafka refused to make {len(refused)} of {len(experiment.topics)} topics:\n{reasons}")
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


def wait_for_answer(run: RunControl, question: Question, timeout_s: float, reason: str) -> dict[str, Any]:
    """The observer's answer; what ends any wait of the run ends this one, too."""
    run.waiter.wait_until(lambda: question.done, timeout_s + ANSWER_SPARE_S, reason)
    return question.result()


@contextlib.contextmanager
def explain_failure(context: RunContext, components: Sequence[BaseComponent], what: str) -> Iterator[None]:
    """Add to a StartFailed of the block what went wrong and the logs of the components that caused it."""
    try:
        yield
    except StartFailed as error:
        raise StartFailed(f"{what}: {error}{_ends_of_logs(context, components)}") from error


def _ends_of_logs(context: RunContext, components: Sequence[BaseComponent]) -> str:
    """The ends of the logs of those that ended or cannot get ready, or else of those that are not ready yet."""
    ended = [part for part in components if part.over or part.hopeless]
    text = ""
    for component in (ended or [part for part in components if not part.ready()])[:SHOWN_LOGS]:
        instance = _failed_process(component.processes).instance
        log = context.log_path(component.host, component.name, instance, len(component.processes))
        text += f"\n--- the end of {log.name}:\n{end_of_log(log)}"
    return text


def _failed_process(processes: Sequence[ComponentProcess]) -> ComponentProcess:
    """The process whose log says most about a failed start: one that died, else one that ended, else the last."""
    died = [process for process in processes if process.state == "died"]
    ended = [process for process in processes if process.over]
    return (died or ended or [processes[-1]])[0]
