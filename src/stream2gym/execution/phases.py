"""The phases of a run: software, network, brokers, topics, consumers, engines, warmup, load, drain, stop, seal.

Each phase waits for what it can observe, with a deadline and a reason, and registers every undo before its deed. The
record is in the run folder before anything is judged, however the run ends.
"""

from __future__ import annotations

from collections.abc import Callable

from stream2gym.errors import Interrupted, S2gError
from stream2gym.execution.build_network import build_network
from stream2gym.execution.drain import drain
from stream2gym.execution.drive_load import Load, begin_load, drive_load
from stream2gym.execution.fault_server import FaultServer
from stream2gym.execution.find_software import find_software
from stream2gym.execution.host_server import start_host_server
from stream2gym.execution.job_server import start_jobs
from stream2gym.execution.latest_results import note_latest_messages
from stream2gym.execution.packet_observation import PacketObservation, start_observation
from stream2gym.execution.result_checks import run_checks
from stream2gym.execution.run_components import RunComponents, make_components
from stream2gym.execution.run_control import Outcome, PlannedRun, RunControl
from stream2gym.execution.start_engines import start_engines
from stream2gym.execution.start_faults import start_faults
from stream2gym.execution.start_kafka import make_topics, start_brokers, start_clients
from stream2gym.execution.start_monitors import RunMonitors, start_monitors
from stream2gym.execution.start_rabbitmq import make_queues, start_nodes
from stream2gym.execution.stop import seal_record, stop_components
from stream2gym.execution.store_audit import audit_stores
from stream2gym.execution.view import View
from stream2gym.execution.warm_up import warm_up
from stream2gym.interrupts import Interrupts
from stream2gym.record.folder import RunFolder
from stream2gym.software.fetch import Progress


def execute_run(
    planned: PlannedRun,
    folder: RunFolder,
    view: View,
    interrupts: Interrupts,
    *,
    when_fetched: Callable[[Progress], None] = lambda _progress: None,
    when_load_ended: Callable[[int], None] = lambda _rows: None,
) -> Outcome:
    """Go through the phases of a run. Returns how it ended; what went wrong on the way is in the outcome.

    ``when_fetched`` is called when the software is there and nothing has started yet; it may fetch more.
    ``when_load_ended`` is called with the number of records to analyse, before anything is stopped.
    """
    run = RunControl(planned, folder, view, interrupts)
    outcome = Outcome()
    components: RunComponents | None = None
    monitors: RunMonitors | None = None
    load: Load | None = None
    faults: FaultServer | None = None
    observation: PacketObservation | None = None
    with run.undo:
        try:
            software = find_software(run, when_fetched)
            context = build_network(run)
            start_host_server(run, context)
            observation = start_observation(context)
            components = make_components(run, context, software)
            monitors = start_monitors(run, components)
            components.start_early()
            _start_cluster(run, components, monitors)
            start_clients(run, components)
            start_engines(run, components)
            monitors.watch_stores()
            warm_up(run, components)
            load = begin_load(run, components, monitors)
            faults = start_faults(run, load)
            jobs = start_jobs(run, load, monitors)
            drive_load(run, load, faults, jobs, monitors)
            drain(run, load)
            _look_at_results(run, components)
        except Interrupted as error:
            outcome = Outcome("interrupted", error)
            run.recorder.tell("interrupted", reason=str(error))
        except S2gError as error:
            outcome = Outcome("failed", error)
            run.recorder.tell("run-failed", reason=str(error))
        run.recorder.phase("stop")
        run.waiter.stops_on_interrupt = False
        if load is not None:
            when_load_ended(load.recorded_messages())
        if monitors is not None:
            monitors.end_components()
        if components is not None:
            stop_components(run, components, load, faults)
        if load is not None:
            run_checks(run, load.components)
    if components is not None:
        outcome.counts = components.counts()
    if observation is not None:
        observation.finish(run.waiter)
    seal_record(run, outcome)
    return outcome


def _look_at_results(run: RunControl, components: RunComponents) -> None:
    """Write down what stores and topics hold in the end."""
    audit_stores(run, components)
    note_latest_messages(run, components)


def _start_cluster(run: RunControl, components: RunComponents, monitors: RunMonitors) -> None:
    """Start the brokers, make the topics and watch both. Nothing in a run without brokers."""
    observer = components.observer
    if observer is not None and components.context.experiment.uses_rabbitmq:
        start_nodes(run, components, observer)
        make_queues(run, components, observer)
    elif observer is not None:
        start_brokers(run, components, observer)
        make_topics(run, components, observer)
        monitors.watch_kafka(observer)
