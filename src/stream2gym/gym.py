"""The life of a run: network, brokers, topics, consumers, engines, load, drain, stop, record sealed.

Every step waits for what was observed, with a deadline and a reason; every undo is registered before its deed. What
happens is in the run folder before anything is judged, whatever way the run ends.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from stream2gym.components.base import ProcessComponent
from stream2gym.components.broker import BrokerComponent, Cluster
from stream2gym.components.cluster import bootstrap, plan_nodes, topic_requests
from stream2gym.components.consumer import ConsumerComponent, waiting_groups
from stream2gym.components.lines import LineReader
from stream2gym.components.observer import Observer
from stream2gym.components.producer import ProducerComponent
from stream2gym.components.program import ProgramComponent
from stream2gym.components.stage import Stage, end_of_log
from stream2gym.components.topics import groups_of
from stream2gym.components.unit import Unit
from stream2gym.errors import Defect, Interrupted, S2gError, StartFailed
from stream2gym.gymlife import links
from stream2gym.gymlife.drain import Backlog
from stream2gym.gymlife.patience import Interrupts, Patience
from stream2gym.gymlife.root import make_root, remove_root, root_of
from stream2gym.gymlife.view import Numbers, View
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.monitors.clock import ClockMonitor
from stream2gym.monitors.leadership import LeadershipMonitor
from stream2gym.monitors.links import FabricMonitor
from stream2gym.monitors.processes import ProcessMonitor
from stream2gym.monitors.sampler import Monitor, Sampler
from stream2gym.plan.model import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import RecordFull
from stream2gym.record.samples import SampleLog
from stream2gym.record.seal import seal
from stream2gym.software.kafka import KafkaSoftware
from stream2gym.software.kafka_storage import new_id
from stream2gym.spec.model import Experiment

BROKERS_TIMEOUT_S, A_BROKER_S = 60.0, 5.0  # together, and more for each
TOPICS_TIMEOUT_S = 60.0
CLIENTS_TIMEOUT_S, A_CLIENT_S = 60.0, 1.0
LEAD_S = 0.05  # from opening the gates to t0, so that every producer is there in time
OFFSETS_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Script:
    """What will be run: decided before anything starts."""

    experiment: Experiment
    plan: Plan
    base: Path  # relative paths of the experiment stand against it
    capture_all: bool = False


@dataclass
class Outcome:
    """How it went, before anybody has judged it."""

    state: str = "done"  # done, failed, interrupted
    error: S2gError | None = None
    rows: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)  # what the clients said


Faults = Callable[["Gym"], Callable[[], None]]  # called at t0 with the gym; gives back what ends the faults


class Gym:
    """One run, from its script to its sealed record."""

    def __init__(
        self,
        script: Script,
        folder: RunFolder,
        view: View,
        interrupts: Interrupts,
        *,
        faults: Faults | None = None,
        at_drain: Callable[[], None] = lambda: None,
    ) -> None:
        self.script = script
        self.folder = folder
        self.t0_ns: int | None = None
        self._view = view
        self._faults = faults
        self._at_drain = at_drain
        self.patience = Patience(interrupts, self._tick)
        self.nodes = plan_nodes(script.experiment, script.plan)
        self.brokers: list[BrokerComponent] = []
        self.producers: list[ProducerComponent] = []
        self.consumers: list[ConsumerComponent] = []
        self.programs: list[ProgramComponent] = []
        self._samples = SampleLog(folder.raw, "monitors")
        self._sampling = threading.Lock()
        self._broken: S2gError | None = None
        self._backlog: Backlog | None = None

    # ---- the whole

    def run(self) -> Outcome:
        outcome = Outcome()
        with contextlib.ExitStack() as undo:
            try:
                self._prepare()
                self._start_network(undo)
                self._start_brokers()
                self._make_topics()
                self._start_consumers()
                self._start_engines()
                self._drive_load(undo)
                self._drain()
            except Interrupted as error:
                outcome = Outcome("interrupted", error)
            except S2gError as error:
                outcome = Outcome("failed", error)
                self.tell("run-failed", reason=str(error))
            self._stop()
        outcome.counts = self._counts()
        self._seal(outcome)
        return outcome

    # ---- phases

    def _prepare(self) -> None:
        kafka = self.script.experiment.kafka
        if self.nodes:
            self._phase("software")
            self.software = KafkaSoftware.ensure(kafka.version, kafka.java, self._progress)
            self.folder.update(kafka=self.software.version, java=self.software.java.version)

    def _start_network(self, undo: contextlib.ExitStack) -> None:
        self._phase("network")
        plan, base = self.script.plan, self.script.base.absolute()
        keep = [base, Path.cwd(), self.folder.path.absolute()]
        if self.nodes:
            keep.append(self.software.cache.path().absolute())
        undo.callback(self._samples.close)
        lines = LineReader()
        undo.callback(lines.close)
        self.network: EmulatedNetwork = start_network(plan.network, keep=keep)
        undo.callback(self.network.close)
        self.patience.troubles += [lambda: self.network.failure, lambda: self._broken]
        for warning in self.network.warnings:
            self.tell("warning", what=warning)
        undo.callback(remove_root, self.folder)
        has_programs = any(getattr(part, "app", None) for _, part in self.script.experiment.components())
        root = make_root(self.folder, base) if has_programs else root_of(self.folder)
        self.stage = Stage(
            self.script.experiment, plan, self.network, self.folder, lines, self.tell, self.sample, root
        )
        if plan.startup == "fast":
            self.network.fabric.set_links(links.unshaped(plan.network))
        if self.script.capture_all:
            self._capture(undo)
        monitors: list[Monitor] = [
            FabricMonitor(self.network.fabric, self.sample),
            ProcessMonitor(self.network, self._units, self.sample),
            ClockMonitor(self.tell),
        ]
        sampler = Sampler(monitors)
        undo.callback(sampler.stop)

    def _capture(self, undo: contextlib.ExitStack) -> None:
        captures = self.folder.path / "captures"
        captures.mkdir()
        for link in self.script.plan.network.links:
            undo.callback(self._attempt, partial(self.network.fabric.stop_capture, link.name))
            file = captures / f"{link.name.replace(' ', '')}.pcap"
            self.network.fabric.capture(link.name, file.absolute())

    def _start_brokers(self) -> None:
        experiment = self.script.experiment
        if not self.nodes:
            return
        self._phase("brokers")
        cluster = Cluster(new_id(), self.nodes, self.software)
        by_name = {str(broker.name): broker for broker in experiment.brokers}
        self.brokers = [BrokerComponent(self.stage, by_name[node.name], node, cluster) for node in self.nodes]
        self.patience.troubles.append(self._dead_broker)
        for broker in self.brokers:
            broker.start()
        leadership = LeadershipMonitor(self.sample, self.tell)
        self.observer = Observer(self.stage, bootstrap(self.nodes), leadership.hear)
        timeout_s = BROKERS_TIMEOUT_S + A_BROKER_S * len(self.brokers)
        wanted = [node.id for node in self.nodes if node.is_broker]
        question = self.observer.ask("brokers", nodes=wanted, timeout_s=timeout_s)
        with self._explained(self.brokers, "the brokers did not form a cluster"):
            self.patience.until(lambda: question.done, timeout_s + 5.0, "the brokers to form a cluster")
            question.result()
        for broker in self.brokers:
            broker.seen = True
            self.tell("ready", component=broker.name, host=broker.host)

    def _make_topics(self) -> None:
        """Topics are made in one call while the clients' interpreters start."""
        experiment = self.script.experiment
        if not self.nodes:
            return
        self._phase("topics")
        made = self.observer.ask(
            "create", topics=topic_requests(experiment.topics, self.nodes), timeout_s=TOPICS_TIMEOUT_S
        )
        coordinator = (
            self.observer.ask("coordinate", timeout_s=TOPICS_TIMEOUT_S) if experiment.consumers else made
        )
        self._make_clients()
        self.patience.until(lambda: made.done, TOPICS_TIMEOUT_S + 5.0, "Kafka to make the topics")
        failed = made.result()["failed"]
        if failed:
            words = "\n".join(f"  {name}: {reason}" for name, reason in failed.items())
            raise StartFailed(
                f"Kafka refused to make {len(failed)} of {len(experiment.topics)} topics:\n{words}"
            )
        wanted = {topic.name: (topic.partitions, topic.replicas) for topic in experiment.topics}
        ready = self.observer.ask("ready", topics=wanted, timeout_s=TOPICS_TIMEOUT_S)
        self.patience.until(lambda: ready.done, TOPICS_TIMEOUT_S + 5.0, "every partition to have its leader")
        ready.result()
        self.patience.until(lambda: coordinator.done, TOPICS_TIMEOUT_S + 5.0, "groups to have a coordinator")
        coordinator.result()
        self.observer.ask("watch", every_s=0.5, topics=list(wanted))

    def _make_clients(self) -> None:
        experiment, base = self.script.experiment, self.script.base
        groups = groups_of(experiment, self.script.plan)
        for consumer in experiment.consumers:
            if consumer.app is None:
                self.consumers.append(ConsumerComponent(self.stage, consumer, self.nodes))
            else:
                own = groups[str(consumer.name)]
                self.programs.append(ProgramComponent(self.stage, consumer, self.nodes, base, own))
        for producer in experiment.producers:
            if producer.app is None:
                self.producers.append(ProducerComponent(self.stage, producer, self.nodes, base))
            else:
                self.programs.append(ProgramComponent(self.stage, producer, self.nodes, base))
        for producer_component in self.producers:
            producer_component.start()

    def _start_consumers(self) -> None:
        self._phase("consumers")
        if not self.nodes:
            self._make_clients()
        readers = [*self.consumers, *(program for program in self.programs if program.kind == "consumer")]
        for reader in readers:
            reader.start()
        clients: list[ConsumerComponent | ProducerComponent] = [*self.consumers, *self.producers]
        timeout_s = CLIENTS_TIMEOUT_S + A_CLIENT_S * len(clients)
        with self._explained(clients, "clients did not get ready"):
            self.patience.until(lambda: self._all_ready(clients), timeout_s, "the clients to be ready")
        for client in clients:
            self.tell("ready", component=client.name, host=client.host)

    def _start_engines(self) -> None:
        """Engines start here, between consumers that are assigned and the load."""

    def _drive_load(self, undo: contextlib.ExitStack) -> None:
        if self.script.plan.startup == "fast":
            self.network.fabric.set_links(links.configured(self.script.plan.network))
            self.tell("links-as-configured")
        self.patience.troubles[:] = [t for t in self.patience.troubles if t != self._dead_broker]
        t0_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
        self.t0_ns = t0_ns
        self.folder.set_t0(t0_ns)
        self._phase("load", at_ns=t0_ns)
        for producer in self.producers:
            producer.open_gate(t0_ns)
        programs = [program for program in self.programs if program.kind == "producer"]
        self.patience.until(lambda: time.monotonic_ns() >= t0_ns, 60.0, "t0")
        for program in programs:
            program.start_at(t0_ns)
        if self._faults is not None:
            undo.callback(self._faults(self))
        sources = [*self.producers, *programs]
        end_ns = t0_ns + int(float(self.script.experiment.time) * 1e9)
        left_s = (end_ns - time.monotonic_ns()) / 1e9
        self.patience.up_to(lambda: bool(sources) and all(source.over for source in sources), left_s)
        self._stop_all(sources)

    def _drain(self) -> None:
        self._phase("drain")
        self._at_drain()
        if not self.consumers or not self.nodes:
            return
        backlog = self._backlog = Backlog(self.observer, self.consumers)
        drained = self.patience.up_to(lambda: backlog.look() == 0, float(self.script.experiment.drain))
        self.tell("drained", complete=drained, behind=backlog.behind)

    def _stop(self) -> None:
        """Orderly, every step attempted; what is left dies with the network."""
        self._phase("stop")
        self.patience.heed_interrupts = False
        if getattr(self, "network", None) is None or self.network.failure is not None:
            return
        self._attempt(lambda: self._stop_all([*self.producers, *self.programs, *self.consumers]))
        if hasattr(self, "observer"):
            self._attempt(self._note_offsets)
            self.observer.close()
        if self.script.experiment.kafka.stop == "orderly":
            self._attempt(lambda: self._stop_all(self.brokers))
        for unit in (unit for broker in self.brokers for unit in broker.units):
            unit.expect_end()

    def _seal(self, outcome: Outcome) -> None:
        self._phase("seal")
        error = None if outcome.error is None else str(outcome.error)
        try:
            outcome.rows = seal(self.folder)
            self.folder.update(error=error)
        except (OSError, S2gError) as problem:
            outcome.state = "failed"
            outcome.error = outcome.error or Defect(f"the record could not be sealed: {problem}")

    # ---- what the phases stand on

    def tell(self, kind: str, **details: Any) -> None:
        """Write an event down and show it; from any thread."""
        try:
            event = self.folder.events.add(kind, **details)
        except OSError as error:
            self._broken = self._broken or Defect(f"the run folder cannot be written: {error.strerror}")
            event = {"event": kind, **details}
        self._view.event(event)

    def sample(self, source: str, obj: str, metric: str, value: float, at_ns: int | None = None) -> None:
        """Write a number down; from any thread."""
        with self._sampling:
            try:
                self._samples.add(source, obj, metric, value, at_ns=at_ns)
            except RecordFull as error:
                self._broken = self._broken or error

    def components(self) -> list[ProcessComponent]:
        return [*self.brokers, *self.consumers, *self.programs, *self.producers]

    def _units(self) -> Iterator[tuple[str, Unit]]:
        for component in self.components():
            for unit in component.units:
                yield (
                    component.name if len(component.units) == 1 else f"{component.name}.{unit.instance}",
                    unit,
                )

    def _phase(self, name: str, at_ns: int | None = None) -> None:
        self.tell("phase", phase=name, at_ns=at_ns)
        with contextlib.suppress(OSError):
            self.folder.set_phase(name)
        self._view.phase(name)

    def _progress(self, what: str, done: int, total: int) -> None:
        self.patience.check()
        self._view.note(f"{what} {done}/{total}" if total else what)

    def _dead_broker(self) -> S2gError | None:
        for broker in self.brokers:
            if broker.over:
                return StartFailed(f"{broker.name} on {broker.host} ended while the cluster was forming")
        return None

    def _all_ready(self, clients: list[ConsumerComponent | ProducerComponent]) -> bool:
        for client in clients:
            if any(unit.state == "died" for unit in client.units):
                problems = [text for words in client.words for text in words.problems]
                raise StartFailed(
                    f"{client.name} on {client.host} ended: {'; '.join(problems) or 'see its log'}"
                )
        return all(client.ready() for client in clients) and not self._waiting_groups()

    def _waiting_groups(self) -> list[str]:
        """Groups that do not have all their partitions; programs of the user's may hold some, unseen."""
        experiment = self.script.experiment
        foreign = {consumer.group for consumer in experiment.consumers if consumer.app is not None}
        partitions = {topic.name: topic.partitions for topic in experiment.topics}
        return [group for group in waiting_groups(self.consumers, partitions) if group not in foreign]

    @contextlib.contextmanager
    def _explained(self, components: list[Any], what: str) -> Iterator[None]:
        """When waiting fails: which component, and the end of its log."""
        try:
            yield
        except (StartFailed, TimeoutError) as error:
            behind = [c for c in components if c.over] or [c for c in components if not c.ready()]
            text = f"{what}: {error}"
            for component in behind[:3]:
                for unit in component.units[:1]:
                    log = self.stage.log_path(
                        component.host, component.name, unit.instance, len(component.units)
                    )
                    text += f"\n--- end of {log.name}:\n{end_of_log(log)}"
            raise StartFailed(text) from error

    def _stop_all(self, components: list[Any]) -> None:
        """Ask all of them first, so that they end together."""
        for component in components:
            for unit in component.units:
                unit.ask_to_stop()
        for component in components:
            component.stop()

    def _attempt(self, deed: Callable[[], None]) -> None:
        """A step of the way down: its failure is noted and does not keep the next one from being tried."""
        try:
            deed()
        except (S2gError, OSError, TimeoutError) as error:
            self.tell("stop-failed", reason=str(error))

    def _note_offsets(self) -> None:
        names = [topic.name for topic in self.script.experiment.topics]
        if self.t0_ns is None or not names:
            return
        found = self.observer.query("offsets", OFFSETS_TIMEOUT_S, topics=names)
        self.folder.write_offsets([tuple(row) for row in found["offsets"]])
        for place, reason in found["unknown"].items():
            self.tell("offsets-unknown", place=place, reason=reason)

    def _counts(self) -> dict[str, int]:
        words = [word for producer in self.producers for word in producer.words]
        words += [word for consumer in self.consumers for word in consumer.words]
        return {
            key: sum(word.count(key) for word in words) for key in ("sent", "acked", "failed", "received")
        }

    def _tick(self) -> None:
        load_s = None if self.t0_ns is None else (time.monotonic_ns() - self.t0_ns) / 1e9
        lag = self._backlog.behind if self._backlog else None
        self._view.numbers(Numbers(**self._counts(), lag=lag, load_s=load_s))


def versions() -> dict[str, str]:
    """What run.json says about the software around the run."""
    import platform

    from stream2gym import __version__

    return {
        "stream2gym": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "command": " ".join(Path(word).name if word.startswith("/") else word for word in sys.argv),
    }
