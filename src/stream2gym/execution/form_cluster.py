"""What the starts of Kafka and of RabbitMQ share: form a cluster, make topics, and explain why that failed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.component_process import ComponentProcess
from stream2gym.components.observer import Observer, Question
from stream2gym.components.run_context import RunContext, end_of_log
from stream2gym.errors import StartFailed
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl

TOPICS_TIMEOUT_S = 60.0
# What the observer may take to answer beyond the time that it gives the cluster.
ANSWER_SPARE_S = 5.0
# How many logs the message of a failed start shows.
SHOWN_LOGS = 3


def form_cluster(
    run: RunControl,
    components: RunComponents,
    observer: Observer,
    *,
    who: str,
    timeout_s: float,
    on_line: Callable[[dict[str, Any]], None] = lambda _line: None,
    **asked: Any,
) -> None:
    """Start all brokers at once. They are ready when the observer has seen each of them in the cluster.

    ``who`` names them in messages. ``on_line`` is told what the observer says unasked. What else is asked for goes to
    the observer with the question.
    """
    run.recorder.phase("brokers")
    run.waiter.failure_checks.append(components.find_dead_broker)
    for broker in components.brokers:
        broker.start()
    run.undo.callback(observer.close)
    observer.start(on_line)
    with explain_failure(components.context, components.brokers, f"{who} did not form a cluster"):
        question = observer.ask("brokers", timeout_s=timeout_s, **asked)
        wait_for_answer(run, question, timeout_s, f"{who} to form a cluster")
    for broker in components.brokers:
        broker.seen = True
        run.recorder.tell("ready", component=broker.name, host=broker.host)


def check_topics_made(who: str, refused: Mapping[str, str], number: int) -> None:
    """StartFailed names the topics of all so many that were refused, each with the reason."""
    if refused:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in refused.items())
        raise StartFailed(f"{who} refused to make {len(refused)} of {number} topics:\n{reasons}")


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
