"""The components of a run: who they are, whether they are there, what they have done so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from stream2gym.clients.process import RECORD_FULL
from stream2gym.components.base import ProcessComponent
from stream2gym.components.broker import BrokerComponent, Cluster
from stream2gym.components.consumer import ConsumerComponent, waiting_groups
from stream2gym.components.producer import ProducerComponent
from stream2gym.components.program import ProgramComponent
from stream2gym.components.stage import Stage, end_of_log
from stream2gym.components.topics import groups_of
from stream2gym.components.unit import Unit
from stream2gym.components.words import ClientWords
from stream2gym.errors import Defect, S2gError, StartFailed
from stream2gym.gymlife.works import Works
from stream2gym.spec.model import Consumer, Producer

SHOWN_LOGS = 3


class Crew:
    """All components of one run."""

    def __init__(self, stage: Stage, cluster: Cluster | None, base: Path, works: Works) -> None:
        self._stage = stage
        self._works = works
        experiment, nodes = stage.experiment, cluster.nodes if cluster else ()
        groups = groups_of(experiment, stage.plan)
        settings = {str(broker.name): broker for broker in experiment.brokers}
        self.brokers = [
            BrokerComponent(stage, settings[node.name], node, cluster) for node in nodes if cluster
        ]
        self.consumers = [
            ConsumerComponent(stage, part, nodes) for part in experiment.consumers if part.app is None
        ]
        self.producers = [
            ProducerComponent(stage, part, nodes, base) for part in experiment.producers if part.app is None
        ]
        clients: list[Producer | Consumer] = [*experiment.consumers, *experiment.producers]
        self.programs = [
            ProgramComponent(stage, part, nodes, base, groups.get(str(part.name), ()))
            for part in clients
            if part.app is not None
        ]

    # ---- who they are

    def everyone(self) -> list[ProcessComponent]:
        return [*self.brokers, *self._works.everyone(), *self.consumers, *self.programs, *self.producers]

    def readers(self) -> list[ProcessComponent]:
        return [*self.consumers, *(program for program in self.programs if program.kind == "consumer")]

    def own_programs(self) -> list[ProgramComponent]:
        """Programs that produce: they start with the load."""
        return [program for program in self.programs if program.kind == "producer"]

    def sources(self) -> list[ProcessComponent]:
        return [*self.producers, *self.own_programs(), *self._works.sources]

    def units(self) -> Iterator[tuple[str, Unit]]:
        """Every process with the name under which it is sampled."""
        for component in self.everyone():
            for unit in component.units:
                yield (
                    component.name if len(component.units) == 1 else f"{component.name}.{unit.instance}",
                    unit,
                )

    def words(self) -> list[ClientWords]:
        heard = [words for producer in self.producers for words in producer.words]
        return heard + [words for consumer in self.consumers for words in consumer.words]

    def counts(self) -> dict[str, int]:
        """What the clients have said that they did."""
        words = self.words()
        return {key: sum(word.count(key) for word in words) for key in ClientWords.COUNTS}

    # ---- whether they are there

    def dead_broker(self) -> S2gError | None:
        """While the cluster forms, nothing works without every broker."""
        for broker in self.brokers:
            if broker.over:
                return StartFailed(f"{broker.name} on {broker.host} ended while the cluster was forming")
        return None

    def full_record(self) -> S2gError | None:
        """A client without room for its record: what follows would not be on record."""
        for client in (*self.producers, *self.consumers):
            for unit in client.units:
                how = unit.process.poll() if unit.process else None
                if how is not None and how.code == RECORD_FULL:
                    return Defect(f"no room left for the record of {unit.component}: the disk is full")
        return None

    def cluster_runs(self) -> bool:
        """Whether any broker is left to ask."""
        return any(broker.node.is_broker and broker.units[0].running for broker in self.brokers)

    def clients_ready(self) -> bool:
        """Whether producers know their topics and groups have all their partitions."""
        for client in (*self.consumers, *self.producers):
            if any(unit.state == "died" for unit in client.units):
                raise StartFailed(f"{client.name} on {client.host} ended")
        ready = all(client.ready() for client in (*self.consumers, *self.producers))
        return ready and not self._waiting_groups()

    def _waiting_groups(self) -> list[str]:
        """Groups without all their partitions; programs of the user's may hold some of them, unseen."""
        experiment = self._stage.experiment
        foreign = {consumer.group for consumer in experiment.consumers if consumer.app is not None}
        partitions = {topic.name: topic.partitions for topic in experiment.topics}
        return [group for group in waiting_groups(self.consumers, partitions) if group not in foreign]

    def explained(self, error: Exception, what: str, components: Sequence[ProcessComponent]) -> StartFailed:
        """The failure with the names of those behind it and the ends of their logs."""
        behind = [part for part in components if part.over] or [
            part for part in components if not part.ready()
        ]
        text = f"{what}: {error}"
        for component in behind[:SHOWN_LOGS]:
            log = self._stage.log_path(component.host, component.name, 1, len(component.units))
            text += f"\n--- the end of {log.name}:\n{end_of_log(log)}"
        return StartFailed(text)
