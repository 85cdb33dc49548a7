"""The components of a run: all of them, whether they run, and what they have done so far."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from stream2gym.clients.client_process import RECORD_FULL
from stream2gym.components.base_component import BaseComponent
from stream2gym.components.broker import BrokerComponent, Cluster
from stream2gym.components.cluster import bootstrap, kafka_nodes
from stream2gym.components.component_process import ComponentProcess
from stream2gym.components.consumer import ConsumerComponent, waiting_groups
from stream2gym.components.engine import EngineComponent, make_engines
from stream2gym.components.line_source import LineSource
from stream2gym.components.observer import RABBITMQ_ADMIN, Observer
from stream2gym.components.producer import ProducerComponent
from stream2gym.components.program_component import ProgramComponent
from stream2gym.components.rabbitmq_broker import RabbitMqBroker, check_version
from stream2gym.components.rabbitmq_cluster import GroupQueue, RabbitMqNode, group_queues
from stream2gym.components.run_context import RunContext
from stream2gym.components.sink import SinkComponent
from stream2gym.components.status_lines import ClientStatus
from stream2gym.components.store import StoreComponent, make_stores
from stream2gym.components.topics import groups_of
from stream2gym.errors import Defect, S2gError, StartFailed
from stream2gym.execution.find_software import RunSoftware
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.view import LoadProgress
from stream2gym.record.instances import instance_label
from stream2gym.software.kafka_storage import new_id
from stream2gym.spec.model import Consumer, Producer


def make_components(run: RunControl, context: RunContext, software: RunSoftware) -> RunComponents:
    """Make every component of the run; none of them is started. From now on the view is shown their counts."""
    components = RunComponents(context, software)
    run.undo.callback(components.close)
    run.waiter.on_tick = lambda: run.recorder.view.progress(LoadProgress(**components.counts()))
    return components


def leave_out_shared_groups(
    waiting: Sequence[str], declared: Collection[str], programs: Sequence[ProgramComponent]
) -> list[str]:
    """Of the groups that lack partitions, those that no program shares: in others a program may hold the rest.

    ``declared`` are the groups that the experiment gives to programs. A program may join others by itself, which the
    recorder tells. Which groups a program without a recorder joins nobody knows, so that no group is waited for then.
    """
    if any(program.record is None for program in programs):
        return []
    joined = {group for program in programs for group in program.groups()}
    return [group for group in waiting if group not in declared and group not in joined]


class RunComponents:
    """The registry of all components of one run, by kind."""

    def __init__(self, context: RunContext, software: RunSoftware) -> None:
        self.context = context
        experiment, nodes = context.experiment, context.nodes
        self.stores: list[StoreComponent] = make_stores(context, software.of_components)
        self.engines: list[EngineComponent] = make_engines(context, software.of_components)
        stores = {store.name: store for store in self.stores}
        self.sinks = [SinkComponent(context, part, stores[part.store]) for part in experiment.sinks]
        self.line_sources = [LineSource(context, part) for part in experiment.sources]
        self.brokers: list[BrokerComponent | RabbitMqBroker] = []
        # The admin client of the run; None in a run without brokers.
        self.observer: Observer | None = None
        settings = {str(broker.name): broker for broker in experiment.brokers}
        if software.kafka is not None:
            cluster = Cluster(new_id(), kafka_nodes(nodes), software.kafka)
            self.brokers = [BrokerComponent(context, settings[node.name], node, cluster) for node in cluster.nodes]
            self.observer = Observer(context, bootstrap(nodes))
        # The queues of groups; none in a run with Kafka.
        self.queues: list[GroupQueue] = []
        if software.rabbitmq is not None:
            check_version(context, software.rabbitmq)
            self.queues = group_queues(experiment, context.plan)
            self.brokers = [
                RabbitMqBroker(context, settings[node.name], node, self.queues, software.rabbitmq)
                for node in nodes
                if isinstance(node, RabbitMqNode)
            ]
            self.observer = Observer(context, bootstrap(nodes), RABBITMQ_ADMIN)
        self.consumers = [ConsumerComponent(context, part) for part in experiment.consumers if part.app is None]
        self.producers = [ProducerComponent(context, part) for part in experiment.producers if part.app is None]
        groups = groups_of(experiment, context.plan)
        clients: list[Producer | Consumer] = [*experiment.consumers, *experiment.producers]
        self.programs = [
            ProgramComponent(context, part, groups.get(str(part.name), ()))
            for part in clients
            if part.app is not None
        ]

    # ---- which components there are

    def all(self) -> list[BaseComponent]:
        """Every component of the run."""
        return [*self.brokers, *self.processing(), *self.consumers, *self.programs, *self.producers]

    def processing(self) -> list[EngineComponent | StoreComponent | SinkComponent | LineSource]:
        """What works beside Kafka and its clients: stores, sinks, engines and line sources."""
        return [*self.stores, *self.sinks, *self.engines, *self.line_sources]

    def clients(self) -> list[ConsumerComponent | ProducerComponent]:
        """The recording consumers and the load producers."""
        return [*self.consumers, *self.producers]

    def consuming(self) -> list[BaseComponent]:
        """Consumers, the user's programs among them."""
        return [*self.consumers, *self.consuming_programs()]

    def consuming_programs(self) -> list[ProgramComponent]:
        """Programs of the user's that consume."""
        return [program for program in self.programs if program.kind == "consumer"]

    def producing_programs(self) -> list[ProgramComponent]:
        """Programs of the user's that produce. They start at t0, because they know no gate."""
        return [program for program in self.programs if program.kind == "producer"]

    def load_sources(self) -> list[BaseComponent]:
        """Whatever drives the load: the load is over when all of them are."""
        return [*self.producers, *self.producing_programs(), *self.line_sources]

    def topic_readers(self) -> list[EngineComponent | SinkComponent]:
        """Engines and sinks: they read topics outside of groups, and it is known how far."""
        return [*self.engines, *self.sinks]

    def observed_programs(self) -> list[ProgramComponent]:
        """Programs of the user's that the recorder was put into."""
        return [program for program in self.programs if program.record is not None]

    def processes(self) -> Iterator[tuple[str, ComponentProcess]]:
        """Every process with the name under which it is sampled."""
        for component in self.all():
            for process in component.processes:
                yield instance_label(component.name, process.instance, len(component.processes)), process

    # ---- what they have done

    def counts(self) -> dict[str, int]:
        """What clients have reported and observed programs recorded that they did: sent, acknowledged and so on."""
        reports = [report for client in self.clients() for report in client.statuses]
        recorded = [program.record.counts() for program in self.programs if program.record is not None]
        return {
            key: sum(report.count(key) for report in reports) + sum(counts[key] for counts in recorded)
            for key in ClientStatus.COUNTS
        }

    # ---- whether they run

    def find_dead_broker(self) -> S2gError | None:
        """An error if a broker has ended: until the cluster has formed, nothing works without every broker."""
        for broker in self.brokers:
            if broker.over:
                return StartFailed(f"{broker.name} on {broker.host} ended before the load began")
        return None

    def find_full_record(self) -> S2gError | None:
        """An error if a client has no room for its record: what it does from then on would not be on record."""
        for client in self.clients():
            for process in client.processes:
                how = process.handle.poll() if process.handle else None
                if how is not None and how.code == RECORD_FULL:
                    return Defect(f"no room left for the record of {process.component}: the disk is full")
        return None

    def has_running_broker(self) -> bool:
        """Whether any broker is left that can be asked."""
        return any(broker.node.is_broker and broker.processes[0].running for broker in self.brokers)

    def are_clients_ready(self) -> bool:
        """Whether producers know their topics and groups have all their partitions; StartFailed if a client died."""
        for client in self.clients():
            if any(process.state == "died" for process in client.processes):
                raise StartFailed(f"{client.name} on {client.host} ended")
        return all(client.ready() for client in self.clients()) and not self._waiting_groups()

    def _waiting_groups(self) -> list[str]:
        """Groups without all their partitions, except those whose partitions a program of the user's may hold."""
        experiment = self.context.experiment
        partitions = {topic.name: topic.partitions for topic in experiment.topics}
        waiting = waiting_groups(self.consumers, partitions)
        declared = {str(consumer.group) for consumer in experiment.consumers if consumer.app is not None}
        return leave_out_shared_groups(waiting, declared, self.consuming_programs())

    def start_early(self) -> None:
        """Start stores, line sources and the engines that need nothing else or wait at a gate: they start slowly."""
        early = [engine for engine in self.engines if engine.starts_early()]
        for component in (*self.stores, *self.line_sources, *early):
            component.start()

    def close(self) -> None:
        """Release what engines hold outside the network."""
        for engine in self.engines:
            engine.close()
