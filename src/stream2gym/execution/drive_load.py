"""Phase ``load``: from t0 until the time of the experiment is over, or until every source of load is done."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from stream2gym.execution.end_load import end_load
from stream2gym.execution.fault_server import FaultServer
from stream2gym.execution.lag_tracker import LagMonitor, LagTracker
from stream2gym.execution.link_startup import configured_links
from stream2gym.execution.queue_tracker import QueueTracker
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.start_monitors import RunMonitors
from stream2gym.execution.view import LoadProgress

# From the opening of the gates to t0, so that every producer knows t0 in time.
LEAD_S = 0.05
T0_TIMEOUT_S = 60.0


@dataclass
class Load:
    """The load of a run from the moment at which t0 is decided."""

    t0_ns: int
    components: RunComponents
    # None in a run where nothing reads topics.
    lag_tracker: LagTracker | QueueTracker | None
    # What the clients had counted when t0 was decided, that is, in the warm-up.
    warmup_counts: dict[str, int] = field(default_factory=dict)
    # The drain is over, and brokers may stop: nobody samples the lag any more.
    is_drained: bool = False

    def counts(self) -> dict[str, int]:
        """What the clients have done since t0, as far as they have reported it."""
        return {key: count - self.warmup_counts.get(key, 0) for key, count in self.components.counts().items()}

    def lag(self) -> int | None:
        """Messages that all groups together are behind; None until it is known."""
        return None if self.lag_tracker is None else self.lag_tracker.total_lag

    def recorded_messages(self) -> int:
        """About how many rows the record will have: messages sent and received, as the clients report them."""
        counts = self.components.counts()
        return counts["sent"] + counts["received"]

    def progress(self) -> LoadProgress:
        """The progress of the load, for the view."""
        load_s = (time.monotonic_ns() - self.t0_ns) / 1e9
        return LoadProgress(**self.counts(), lag=self.lag(), load_s=load_s)


def make_tracker(components: RunComponents, *, looks_behind: bool = False) -> LagTracker | QueueTracker | None:
    """What tells how far the readers are behind; None in a run where nothing reads topics."""
    if not components.context.experiment.uses_rabbitmq:
        return LagTracker.of(components, looks_behind=looks_behind)
    if components.observer is None or not components.queues:
        return None
    experiment, queues = components.context.experiment, components.queues
    return QueueTracker(components.observer, experiment, queues, components.consumers, components.producers)


def apply_links_and_limits(run: RunControl, components: RunComponents) -> None:
    """Put the links and the CPU limits in force that the experiment configures, if the software started without."""
    if run.planned.plan.startup == "fast":
        network = components.context.network
        network.fabric.set_links(configured_links(run.planned.plan.network))
        network.limits.restore_cpu()
        run.recorder.tell("links-as-configured")


def begin_load(run: RunControl, components: RunComponents, monitors: RunMonitors) -> Load:
    """Put configured links and limits in force and decide t0. No message of the load has been sent by then."""
    has_warmup = run.planned.plan.has_warmup
    if not has_warmup:
        apply_links_and_limits(run, components)
    if components.find_dead_broker in run.waiter.failure_checks:
        run.waiter.failure_checks.remove(components.find_dead_broker)
    run.waiter.failure_checks.append(components.find_full_record)
    t0_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
    before = components.counts() if has_warmup else {}
    load = Load(t0_ns, components, make_tracker(components), warmup_counts=before)
    run.folder.set_t0(load.t0_ns)
    run.recorder.phase("load", at_ns=load.t0_ns)
    run.waiter.on_tick = lambda: run.recorder.view.progress(load.progress())
    monitors.begin_load()
    monitors.add("lag", LagMonitor(lambda: None if load.is_drained else load.lag_tracker, run.recorder.sample))
    return load


class Jobs(Protocol):
    """Jobs that are submitted, stopped or moved by hand, as the load knows them."""

    # Components that are being moved: the load waits for them.
    held: frozenset[str]

    def end_load(self) -> None:
        """Take no more requests that change the run."""


def drive_load(run: RunControl, load: Load, faults: FaultServer, jobs: Jobs, monitors: RunMonitors) -> None:
    """Let the sources begin at t0; return when the load is over and they have stopped, line sources excepted."""
    components = load.components
    for producer in components.producers:
        producer.open_gate(load.t0_ns)
    for line_source in components.line_sources:
        line_source.open_gate(load.t0_ns)
    run.waiter.wait_until(lambda: time.monotonic_ns() >= load.t0_ns, T0_TIMEOUT_S, "t0")
    for program in components.producing_programs():
        program.start_at(load.t0_ns)

    def is_done() -> bool:
        sources, held = components.load_sources(), faults.held | jobs.held
        return bool(sources) and all(source.over and source.name not in held for source in sources)

    end_ns = load.t0_ns + int(float(run.planned.experiment.time) * 1e9)
    run.waiter.wait_at_most((end_ns - time.monotonic_ns()) / 1e9, is_done)
    jobs.end_load()
    faults.end_load()
    monitors.end_load()
    end_load(run, components, load.t0_ns)
