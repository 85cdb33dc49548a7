"""The life of a run: network, brokers, topics, consumers, engines, load, drain, stop, record sealed.

Every step waits for what was observed, with a deadline and a reason; every undo is registered before its deed. What
happens is in the run folder before anything is judged, whatever way the run ends.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from stream2gym.components.base import ProcessComponent, stop_together
from stream2gym.components.broker import Cluster
from stream2gym.components.cluster import bootstrap, plan_nodes, topic_requests
from stream2gym.components.consumer import ConsumerComponent
from stream2gym.components.lines import LineReader
from stream2gym.components.observer import Observer, Question
from stream2gym.components.stage import Stage
from stream2gym.errors import Defect, Interrupted, S2gError, StartFailed
from stream2gym.gymlife import links
from stream2gym.gymlife.crew import Crew
from stream2gym.gymlife.drain import Backlog, Drain, LagMonitor
from stream2gym.gymlife.faults import squeezable_hosts
from stream2gym.gymlife.notes import Notes
from stream2gym.gymlife.patience import Interrupts, Patience
from stream2gym.gymlife.root import FILES, make_root, private_view, remove_root, root_of
from stream2gym.gymlife.view import Numbers, View
from stream2gym.gymlife.works import Works
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.monitors.clock import ClockMonitor
from stream2gym.monitors.leadership import LeadershipMonitor
from stream2gym.monitors.links import FabricMonitor
from stream2gym.monitors.processes import ProcessMonitor
from stream2gym.monitors.sampler import Sampler
from stream2gym.plan.model import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.software.cache import Cache
from stream2gym.software.fetch import Progress
from stream2gym.software.kafka import KafkaSoftware
from stream2gym.software.kafka_storage import new_id
from stream2gym.spec.model import Experiment

BROKERS_TIMEOUT_S, A_BROKER_S = 60.0, 5.0  # together, and more for each
TOPICS_TIMEOUT_S = 60.0
CLIENTS_TIMEOUT_S, A_CLIENT_S = 60.0, 1.0
LEAD_S = 0.05  # from opening the gates to t0, so that every producer is there in time
OFFSETS_TIMEOUT_S = 10.0
WATCH_EVERY_S, WATCH_A_BROKER_S = 0.1, 0.02  # at least; more where there are many to ask
MANY_FILES = 20  # of those that programs wrote, named in the event


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
    rows: dict[str, int] = field(default_factory=dict)  # of each table of the record
    counts: dict[str, int] = field(default_factory=dict)  # what the clients said that they did


class RunningFaults(Protocol):
    """What the life of a run knows of its faults."""

    @property
    def held(self) -> frozenset[str]:
        """Components that will be started again: the load does not end for want of them."""

    def end_load(self) -> None:
        """Nothing new begins from now on."""

    def close(self) -> None:
        """Undo what is in force."""


Faults = Callable[["Gym"], RunningFaults]  # called at t0 with the gym


class Gym:
    """One run, from its script to its sealed record."""

    network: EmulatedNetwork  # there from the phase of that name on, as are the stage and the crew
    stage: Stage
    observer: Observer  # there with the brokers

    def __init__(
        self,
        script: Script,
        folder: RunFolder,
        view: View,
        interrupts: Interrupts,
        *,
        faults: Faults | None = None,
        over: Callable[[int], None] = lambda _rows: None,
        fetched: Callable[[Progress], None] = lambda _progress: None,
    ) -> None:
        self.script = script
        self._over = (
            over  # told how much there is to analyse when load and drain are over, before anything is stopped
        )
        self._fetched = (
            fetched  # told when the software is there, before anything starts; may wait for more of it
        )
        self.folder = folder
        self.notes = Notes(folder, view)
        self._shown = ("", -1)
        self.patience = Patience(interrupts, self._tick)
        self.nodes = plan_nodes(script.experiment, script.plan)
        self.works = Works(script.experiment)
        self.t0_ns: int | None = None
        self.crew: Crew | None = None
        self._faults = faults
        self._running_faults: RunningFaults | None = None
        self._backlog: Backlog | None = None

    def run(self) -> Outcome:
        """The whole; what goes wrong on the way is in the outcome."""
        outcome = Outcome()
        with contextlib.ExitStack() as undo:
            undo.callback(self.notes.close)
            try:
                cluster = self._find_software()
                network, crew = self._start_network(undo, cluster)
                if cluster is not None:
                    observer = self._start_brokers(undo, crew)
                    self._make_topics(crew, observer)
                self._start_clients(crew)
                self._start_engines()
                self._drive_load(undo, network, crew)
                self._drain(crew)
                self.works.audit(self.patience)
            except Interrupted as error:
                outcome = Outcome("interrupted", error)
            except S2gError as error:
                outcome = Outcome("failed", error)
                self.notes.tell("run-failed", reason=str(error))
            self._stop()
            if self.t0_ns is not None:
                self.works.check()
        outcome.counts = self.counts()
        self._seal(outcome)
        return outcome

    # ---- the phases

    def _find_software(self) -> Cluster | None:
        self.notes.phase("software")
        self.works.prepare(self._on_progress)
        if not self.nodes:
            return None
        kafka = self.script.experiment.kafka
        software = KafkaSoftware.ensure(kafka.version, kafka.java, self._on_progress)
        self.folder.update(kafka=software.version, java=software.java.version)
        self._fetched(self._on_progress)
        return Cluster(new_id(), self.nodes, software)

    def _start_network(
        self, undo: contextlib.ExitStack, cluster: Cluster | None
    ) -> tuple[EmulatedNetwork, Crew]:
        """Hosts, links, monitors, and the components ready to be started on them."""
        self.notes.phase("network")
        plan, base, notes = self.script.plan, self.script.base.absolute(), self.notes
        keep = [base, Path.cwd(), self.folder.path.absolute(), Cache.here().path().absolute()]
        lines = LineReader()
        undo.callback(lines.close)
        programs = any(getattr(part, "app", None) for _, part in self.script.experiment.components())
        undo.callback(remove_root, self.folder)
        private = private_view(self.folder, base, [Cache.here().path().absolute()]) if programs else None
        network = start_network(plan.network, keep=keep, squeezable=squeezable_hosts(plan), private=private)
        undo.callback(network.close)
        self.network = network
        self.patience.troubles += [lambda: network.failure, lambda: notes.broken]
        for warning in network.warnings:
            notes.tell("warning", what=warning)
        root = base if programs else root_of(self.folder)
        if network.not_private:
            what = f"programs can change {base}: no private view of it ({network.not_private})"
            notes.tell("warning", what=what)
            root = make_root(self.folder, base)
        stage = Stage(
            self.script.experiment, plan, network, self.folder, lines, notes.tell, notes.sample, root
        )
        undo.callback(self.works.close)
        self.works.make(stage, self.nodes, base)
        crew = self.crew = Crew(stage, cluster, self.script.base, self.works)
        self.stage = stage
        if plan.startup == "fast":
            network.fabric.set_links(links.unshaped(plan.network))
        if self.script.capture_all:
            self._capture(undo, network)
        sampler = Sampler(
            [
                FabricMonitor(network.fabric, notes.sample),
                ProcessMonitor(network, crew.units, notes.sample),
                ClockMonitor(notes.tell),
                LagMonitor(lambda: self._backlog, notes.sample),
                self.works,
            ]
        )
        undo.callback(sampler.stop)
        self.works.start_early()
        return network, crew

    def _capture(self, undo: contextlib.ExitStack, network: EmulatedNetwork) -> None:
        captures = self.folder.path.absolute() / "captures"
        captures.mkdir()
        for link in self.script.plan.network.links:
            undo.callback(self._attempt, partial(network.fabric.stop_capture, link.name))
            network.fabric.capture(link.name, captures / f"{link.name.replace(' ', '')}.pcap")

    def _start_brokers(self, undo: contextlib.ExitStack, crew: Crew) -> Observer:
        """All brokers at once; they are there when the observer has seen each in the cluster."""
        self.notes.phase("brokers")
        self.patience.troubles.append(crew.dead_broker)
        for broker in crew.brokers:
            broker.start()
        leadership = LeadershipMonitor(self.notes.sample, self.notes.tell)
        observer = self.observer = Observer(self.stage, bootstrap(self.nodes), leadership.hear)
        undo.callback(observer.close)
        timeout_s = BROKERS_TIMEOUT_S + A_BROKER_S * len(crew.brokers)
        wanted = [node.id for node in self.nodes if node.is_broker]
        with self._explained(crew, crew.brokers, "the brokers did not form a cluster"):
            question = observer.ask("brokers", nodes=wanted, timeout_s=timeout_s)
            self._answer(question, timeout_s, "the brokers to form a cluster")
        for broker in crew.brokers:
            broker.seen = True
            self.notes.tell("ready", component=broker.name, host=broker.host)
        return observer

    def _make_topics(self, crew: Crew, observer: Observer) -> None:
        """All topics in one call, while the interpreters of the producers start."""
        self.notes.phase("topics")
        experiment, timeout_s = self.script.experiment, TOPICS_TIMEOUT_S
        asked = observer.ask(
            "create", topics=topic_requests(experiment.topics, self.nodes), timeout_s=timeout_s
        )
        coordinator = observer.ask("coordinate", timeout_s=timeout_s) if experiment.consumers else None
        for producer in crew.producers:
            producer.start()
        refused = self._answer(asked, timeout_s, "Kafka to make the topics")["failed"]
        if refused:
            words = "\n".join(f"  {name}: {reason}" for name, reason in refused.items())
            raise StartFailed(
                f"Kafka refused to make {len(refused)} of {len(experiment.topics)} topics:\n{words}"
            )
        wanted = {topic.name: (topic.partitions, topic.replicas) for topic in experiment.topics}
        ready = observer.ask("ready", topics=wanted, timeout_s=timeout_s)
        self._answer(ready, timeout_s, "every partition to have its leader")
        if coordinator is not None:
            self._answer(coordinator, timeout_s, "groups to have a coordinator")
        brokers = {node.id: node.client_address for node in self.nodes if node.is_broker}
        every_s = max(WATCH_EVERY_S, WATCH_A_BROKER_S * len(brokers))
        observer.ask("watch", every_s=every_s, topics=list(wanted), brokers=brokers)

    def _start_clients(self, crew: Crew) -> None:
        """Consumers hold their partitions and producers stand at their gates before any load."""
        self.notes.phase("consumers")
        for reader in crew.readers():
            reader.start()
        clients = [*crew.consumers, *crew.producers]
        timeout_s = CLIENTS_TIMEOUT_S + A_CLIENT_S * len(clients)
        with self._explained(crew, clients, "the clients did not get ready"):
            self.patience.until(crew.clients_ready, timeout_s, "the clients to be ready")
        for client in clients:
            self.notes.tell("ready", component=client.name, host=client.host)

    def _start_engines(self) -> None:
        """Stores, sinks and engines, between consumers that are assigned and the load."""
        if self.works.everyone():
            self.notes.phase("engines")
            self.works.start(self.patience, self.notes.tell)

    def _drive_load(self, undo: contextlib.ExitStack, network: EmulatedNetwork, crew: Crew) -> None:
        """From t0 until the time is over, or until every source is done."""
        if self.script.plan.startup == "fast":
            network.fabric.set_links(links.configured(self.script.plan.network))
            self.notes.tell("links-as-configured")
        if crew.dead_broker in self.patience.troubles:
            self.patience.troubles.remove(crew.dead_broker)
        self.patience.troubles.append(crew.full_record)
        t0_ns = self.t0_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
        self.folder.set_t0(t0_ns)
        self.notes.phase("load", at_ns=t0_ns)
        self._backlog = self._new_backlog(crew)
        for producer in crew.producers:
            producer.open_gate(t0_ns)
        for source in self.works.sources:
            source.open_gate(t0_ns)
        self.patience.until(lambda: time.monotonic_ns() >= t0_ns, 60.0, "t0")
        for program in crew.own_programs():
            program.start_at(t0_ns)
        faults = self._running_faults = None if self._faults is None else self._faults(self)
        if faults is not None:
            undo.callback(faults.close)
        sources = crew.sources()

        def done() -> bool:
            held = faults.held if faults else ()
            return bool(sources) and all(source.over and source.name not in held for source in sources)

        end_ns = t0_ns + int(float(self.script.experiment.time) * 1e9)
        self.patience.up_to(done, (end_ns - time.monotonic_ns()) / 1e9)
        if faults is not None:
            faults.end_load()
        stop_together([source for source in sources if source not in self.works.sources])

    def _drain(self, crew: Crew) -> None:
        """Until everything has been read; what consumers have not read then is in flight."""
        self.notes.phase("drain")
        drain_s = float(self.script.experiment.drain)
        backlog = self._backlog = self._new_backlog(
            crew
        )  # what was heard before the load ended does not count
        if backlog is None:
            self.patience.up_to(self.works.settled, drain_s)
            return
        drain = Drain(backlog, crew.producers)
        self.patience.up_to(lambda: drain.over() or not crew.cluster_runs(), drain_s)
        self.notes.tell("drained", complete=backlog.behind == 0, behind=backlog.behind)

    def _stop(self) -> None:
        """Orderly, every step attempted; what is left then dies with the network."""
        self.notes.phase("stop")
        self.patience.heed_interrupts = False
        if self.t0_ns is not None:
            counts = self.counts()
            self._over(counts.get("sent", 0) + counts.get("received", 0))
        crew = self.crew
        if crew is None or self.network.failure is not None:
            return
        if self._running_faults is not None:
            self._attempt(self._running_faults.close)
        self._attempt(lambda: stop_together([*crew.sources(), *crew.readers()]))
        for group in self.works.stop_order():
            self._attempt(partial(stop_together, group))
        if crew.cluster_runs() and self.t0_ns is not None:
            self._attempt(self._note_offsets)
        if self.script.experiment.kafka.stop == "orderly":
            self._attempt(lambda: stop_together(crew.brokers))
        for _, unit in crew.units():
            unit.expect_end()
        self._attempt(self._collect)

    def _seal(self, outcome: Outcome) -> None:
        from stream2gym.record.seal import seal  # nobody waits for its imports before the brokers start

        self._tick()  # so that the last numbers shown are the last ones known
        self.notes.phase("seal")
        try:
            outcome.rows = seal(self.folder)
        except (OSError, S2gError) as problem:
            outcome.state = "failed"
            outcome.error = outcome.error or Defect(f"the record could not be sealed: {problem}")

    # ---- what others ask of it

    def tell(self, kind: str, **details: Any) -> None:
        """Write an event down and show it; from any thread."""
        self.notes.tell(kind, **details)

    def components(self) -> list[ProcessComponent]:
        return [] if self.crew is None else self.crew.everyone()

    @property
    def consumers(self) -> list[ConsumerComponent]:
        """The recording consumers."""
        return [] if self.crew is None else self.crew.consumers

    def counts(self) -> dict[str, int]:
        """What the clients have said that they did: sent, acked, failed, received."""
        return {} if self.crew is None else self.crew.counts()

    def lag(self) -> int | None:
        """Messages that all groups together are behind; None until somebody knows."""
        return None if self._backlog is None else self._backlog.total_lag

    # ---- what the phases stand on

    def _new_backlog(self, crew: Crew) -> Backlog | None:
        """None where nobody reads topics."""
        readers = self.works.readers()
        if not crew.brokers or not (crew.consumers or readers):
            return None
        return Backlog(self.observer, crew.consumers, readers)

    def _answer(self, question: Question, timeout_s: float, reason: str) -> dict[str, Any]:
        """The observer's answer, awaited with an ear to everything else."""
        self.patience.until(lambda: question.done, timeout_s + 5.0, reason)
        return question.result()

    @contextlib.contextmanager
    def _explained(self, crew: Crew, components: Sequence[ProcessComponent], what: str) -> Iterator[None]:
        try:
            yield
        except StartFailed as error:
            raise crew.explained(error, what, components) from error

    def _attempt(self, deed: Callable[[], None]) -> None:
        """A step of the way down: its failure is noted and does not keep the next one from being tried."""
        try:
            deed()
        except (S2gError, OSError) as error:
            self.notes.tell("stop-failed", reason=str(error))

    def _collect(self) -> None:
        """Keep what programs wrote in their working directory beyond ``logs``."""
        files = self.network.collect(self.folder.work.absolute() / FILES)
        if files:
            self.notes.tell(
                "files-written", folder=f"work/{FILES}", files=files[:MANY_FILES], count=len(files)
            )

    def _note_offsets(self) -> None:
        """Kafka's own word on where every partition begins and ends."""
        names = [topic.name for topic in self.script.experiment.topics]
        if not names:
            return
        found = self.observer.query("offsets", OFFSETS_TIMEOUT_S, topics=names)
        self.folder.write_offsets([tuple(row) for row in found["offsets"]])
        for place, reason in found["unknown"].items():
            self.notes.tell("offsets-unknown", place=place, reason=reason)

    def _on_progress(self, what: str, done: int, total: int) -> None:
        self.patience.check()
        quarter = 4 * done // total if total else 0
        if (what, quarter) != self._shown:  # a line each quarter is enough, also in the log of a CI job
            self._shown = (what, quarter)
            self.notes.view.note(f"{what}: {25 * quarter} % of {total / 1e6:.0f} MB" if total else what)

    def _tick(self) -> None:
        if self.crew is not None:
            load_s = None if self.t0_ns is None else (time.monotonic_ns() - self.t0_ns) / 1e9
            self.notes.view.numbers(Numbers(**self.counts(), lag=self.lag(), load_s=load_s))
