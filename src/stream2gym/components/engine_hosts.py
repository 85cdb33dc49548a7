"""On which hosts the processes of an engine talk to Kafka. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Engine, Experiment


def hosts_of_engine(engine: Engine, experiment: Experiment, plan: Plan) -> list[str]:
    """The host of the engine itself and those of the processes that do its work.

    For a Spark job these are the executors of all workers: a program may choose its master itself, so that workers of
    other masters count, too. For a Flink job manager they are its task managers.
    """
    hosts = {part.name: part.host for part in plan.components}
    found = [hosts[str(engine.name)]]
    if engine.type.lower() == "spark":
        workers = [part for part in experiment.engines if part.type.lower() == "spark-worker"]
        found += [hosts[str(worker.name)] for worker in workers]
    if engine.type.lower() == "flink-jobmanager":
        found += [hosts[str(one.name)] for one in task_managers_of(str(engine.name), experiment.engines)]
    return list(dict.fromkeys(found))


def task_managers_of(manager: str, engines: Sequence[Engine]) -> list[Engine]:
    """The task managers of a job manager."""
    return [
        one
        for one in engines
        if one.type.lower() == "flink-taskmanager" and one.settings.get("jobmanager") == manager
    ]
