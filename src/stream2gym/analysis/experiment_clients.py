"""The clients of an experiment, with their topics, and whether they record what they send and receive. Pure."""

from __future__ import annotations

from collections.abc import Collection

from stream2gym.analysis.result_tables import ClientRow
from stream2gym.components.program_command import can_be_observed
from stream2gym.components.topics import groups_of, topics_of
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Consumer, Engine, Experiment, Producer


def find_clients(
    experiment: Experiment, plan: Plan, observed_programs: Collection[str] | None = None
) -> tuple[ClientRow, ...]:
    """One row for each producer and consumer and each of its topics, and one for each engine and sink.

    ``observed_programs`` are the programs of the user that were recorded. Without it, all that can be are counted.
    """

    def is_observed(part: Producer | Consumer | Engine) -> bool:
        if part.app is None:
            return True
        return can_be_observed(part) if observed_programs is None else str(part.name) in observed_programs

    rows = [
        ClientRow("producer", str(part.name), topic, observed=is_observed(part))
        for part in experiment.producers
        for topic in dict.fromkeys(part.topic_names()) or {"": None}
    ]
    groups = groups_of(experiment, plan)
    for consumer in experiment.consumers:
        name = str(consumer.name)
        rows += [
            ClientRow("consumer", name, topic, group, observed=is_observed(consumer))
            for group in dict.fromkeys(groups[name])
            for topic in topics_of(consumer, experiment) or [""]
        ]
    for engine in experiment.engines:
        name, observed = str(engine.name), engine.app is not None and is_observed(engine)
        rows.append(ClientRow("engine", name, observed=observed))
        if can_be_observed(engine):
            # It may send to any topic. What it fetches makes it no consumer: it is in no group.
            rows.append(ClientRow("producer", name, observed=observed))
    rows += [ClientRow("engine", str(part.name), observed=False) for part in experiment.sinks]
    return tuple(rows)
