"""The monitors of a run: started with the network, or with what they look at, and sampled until the stop."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stream2gym.clients.store_watch import WATCHED_KINDS, StoreWatchConfig, WatchedStore
from stream2gym.components.observer import Observer
from stream2gym.components.status_lines import status_listener
from stream2gym.components.store import StoreComponent
from stream2gym.errors import Defect
from stream2gym.execution.latest_results import StoreRows
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.kinds.kind import Kind
from stream2gym.monitors.clock import ClockMonitor
from stream2gym.monitors.fabric_counters import FabricMonitor
from stream2gym.monitors.hosts import HostMonitor, MemoryMonitor
from stream2gym.monitors.kafka_cluster import KafkaMonitor
from stream2gym.monitors.link_rates import LinkRateMonitor
from stream2gym.monitors.machine import MachineMonitor
from stream2gym.monitors.machine_use import MachineUseMonitor
from stream2gym.monitors.monitor import Monitor, MonitoredRun, find_plug_in_monitors, make_sample
from stream2gym.monitors.processes import ProcessMonitor
from stream2gym.monitors.sampler import HasLook, Sampler
from stream2gym.monitors.stores import Report, StoreMonitor
from stream2gym.own_python import own_python
from stream2gym.spec.model import Experiment
from stream2gym.units import Duration

# How long the observer may take to tell the state of the cluster: it asks a broker thrice, for a second each time.
STATE_TIMEOUT_S = 4.0


def find_interval_s(experiment: Experiment, kind: Kind) -> float | None:
    """The time between two looks of a monitor in this experiment; None if it is switched off."""
    every = experiment.monitors.get(kind.name)
    if every is None:
        return kind.every_s
    return float(every) if isinstance(every, Duration) else None


def find_watched_stores(stores: Sequence[StoreComponent]) -> list[WatchedStore]:
    """The stores that the client on the observer host knows how to ask. One of a plug-in may have no connection."""
    found = []
    for store in stores:
        with contextlib.suppress(NotImplementedError):
            connection = store.connection()
            if connection.get("kind") in WATCHED_KINDS:
                found.append(WatchedStore(store.name, connection))
    return found


class RunMonitors:
    """Handle of the monitors: more can be added, and they are told when the load ends and when components stop."""

    def __init__(self, run: RunControl, components: RunComponents, sampler: Sampler) -> None:
        self._recorder = run.recorder
        self._undo = run.undo
        self._components = components
        self._context = components.context
        self._sampler = sampler
        self._store_watch: Process | None = None
        self._fabric = FabricMonitor(self._show_run_to(FabricMonitor))

    def start(self) -> None:
        """Start the monitors that need nothing but the network, and those of engines and plug-ins."""
        self.add(FabricMonitor.KIND.name, self._fabric)
        for engine in self._components.engines:
            self.add(f"engine {engine.name}", engine)
        plug_ins, unusable = find_plug_in_monitors()
        for name, reason in unusable.items():
            self._recorder.tell("monitor-failed", monitor=name, reason=reason)
        built_in: list[type[Monitor]] = [
            ProcessMonitor, MachineMonitor, ClockMonitor, MachineUseMonitor, HostMonitor,
        ]  # fmt: skip
        for monitor in [*built_in, *plug_ins]:
            self._start(monitor, partial(monitor, self._show_run_to(monitor)))
        links = self._show_run_to(LinkRateMonitor)
        self._start(LinkRateMonitor, lambda: LinkRateMonitor(links, lambda: self._fabric.latest))

    def add(self, name: str, monitor: HasLook) -> None:
        """Sample this monitor, too, from now on, every half second."""
        self._sampler.add(name, lambda: monitor)

    def watch_kafka(self, observer: Observer) -> None:
        """Sample the cluster from now on. The observer watches its brokers."""

        def ask() -> dict[str, Any]:
            return observer.ask("state").result(STATE_TIMEOUT_S)

        self._start(KafkaMonitor, partial(KafkaMonitor, self._show_run_to(KafkaMonitor), ask))

    def watch_stores(self) -> None:
        """Sample the stores that can be asked from now on. They are ready."""
        every_s = find_interval_s(self._context.experiment, StoreMonitor.KIND)
        stores = find_watched_stores(self._components.stores)
        if stores and every_s is not None:
            config = StoreWatchConfig(tuple(stores), every_s)
            watch = partial(self._start_store_watch, config)
            self._start(StoreMonitor, partial(StoreMonitor, self._show_run_to(StoreMonitor), watch, every_s))

    def begin_load(self) -> None:
        """Sample the memory of hosts from now on: it is read so seldom that its first look should find everything."""
        self._start(MemoryMonitor, partial(MemoryMonitor, self._show_run_to(MemoryMonitor)))

    def end_load(self) -> None:
        """Read the drops of every device at the next sample: their counts of the load are complete."""
        self._fabric.end_load()

    def end_components(self) -> None:
        """End the monitors of what is stopped next, after a last look: that it does not answer then is no failure."""
        self._sampler.end(
            *(monitor.KIND.name for monitor in (KafkaMonitor, StoreMonitor, HostMonitor, MemoryMonitor))
        )
        if self._store_watch is not None:
            with contextlib.suppress(Defect):
                self._store_watch.signal()

    def _start(self, monitor: type[Monitor], make: Callable[[], Monitor]) -> None:
        """Start a monitor at its interval, unless the experiment has switched it off."""
        every_s = find_interval_s(self._context.experiment, monitor.KIND)
        if every_s is not None:
            self._sampler.add(monitor.KIND.name, make, every_s)

    def _show_run_to(self, monitor: type[Monitor]) -> MonitoredRun:
        sample = make_sample(monitor, self._recorder.sample)
        context = self._context
        processes = self._components.processes
        return MonitoredRun(
            context.plan, context.network, processes, sample, self._recorder.tell, self._recorder.folder.path
        )

    def _start_store_watch(self, config: StoreWatchConfig, listener: Callable[[Report], None]) -> None:
        """Start the client that asks the stores."""
        observer = self._context.plan.network.observer
        if observer is None:
            raise Defect("the plan has no observer host")
        rows = StoreRows(self._context.folder)
        self._undo.callback(rows.close)

        def on_report(report: Report) -> None:
            listener(report)
            rows.take(report)

        path = f"{WORK}/store-watch.json"
        log = self._context.folder.log_path(observer.name, "store-watch")
        self._store_watch = self._context.spawn(
            observer.name,
            own_python("-m", "stream2gym.clients.store_watch", path),
            name="store-watch",
            log=log,
            on_line=status_listener(log, on_report),
            files={path: json.dumps(config.to_json()).encode()},
        )


def start_monitors(run: RunControl, components: RunComponents) -> RunMonitors:
    """Start to sample the fabric, the hosts, the processes, the machine, its clock and the engines, and plug-ins."""
    sampler = Sampler(run.recorder.sample, run.recorder.tell)
    run.undo.callback(sampler.stop)
    monitors = RunMonitors(run, components, sampler)
    monitors.start()
    return monitors
