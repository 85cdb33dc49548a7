"""On which hosts the processes of an engine talk to Kafka. Pure."""

from __future__ import annotations

from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Engine, Experiment


def hosts_of_engine(engine: Engine, experiment: Experiment, plan: Plan) -> list[str]:
    """The host of the engine itself and, for a Spark job, those of all workers, whose executors do its work.

    A program may choose its master itself, so that workers of other masters count, too.
    """
    hosts = {part.name: part.host for part in plan.components}
    found = [hosts[str(engine.name)]]
    if engine.type.lower() == "spark":
        workers = [part for part in experiment.engines if part.type.lower() == "spark-worker"]
        found += [hosts[str(worker.name)] for worker in workers]
    return list(dict.fromkeys(found))
