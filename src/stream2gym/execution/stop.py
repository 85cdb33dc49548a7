"""Phases ``stop`` and ``seal``: stop the components in order, then turn the journals into tables of the record."""

from __future__ import annotations

from functools import partial

from stream2gym.components.base_component import BaseComponent, ask_running_to_stop, stop_together
from stream2gym.components.observer import Observer
from stream2gym.errors import Defect, S2gError
from stream2gym.execution.drive_load import Load
from stream2gym.execution.fault_server import FaultServer
from stream2gym.execution.program_folder import FILES
from stream2gym.execution.queue_tracker import find_queue_ends
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import Outcome, RunControl

OFFSETS_TIMEOUT_S = 10.0
# How many of the files that programs wrote the event names.
NAMED_FILES = 20


def stop_components(
    run: RunControl, components: RunComponents, load: Load | None, faults: FaultServer | None
) -> None:
    """Undo the faults, stop the components in order, record Kafka's offsets and keep the files of programs.

    Every step is attempted. Processes that are left afterwards end with the network. When the network is broken, all
    of them have ended already, and nothing is stopped. Consumers are asked to end before the faults are undone,
    because what reaches them only then came after the drain.
    """
    if components.context.network.failure is not None:
        return
    run.attempt(lambda: ask_running_to_stop(components.consuming()))
    if faults is not None:
        run.attempt(faults.close)
    run.attempt(lambda: stop_together([*components.load_sources(), *components.consuming()]))
    for group in _stop_order(components):
        run.attempt(partial(stop_together, group))
    observer = components.observer
    if load is not None and observer is not None and components.has_running_broker():
        run.attempt(lambda: _note_ends(run, components, observer))
    if run.planned.experiment.kafka.stop == "orderly":
        run.attempt(lambda: stop_together(components.brokers))
    for _, process in components.processes():
        process.expect_end()
    run.attempt(lambda: _collect_files(run, components))


def _stop_order(components: RunComponents) -> list[list[BaseComponent]]:
    """What stops together, in which order: sinks first, then jobs before the cluster they run on, stores last."""
    steps = sorted({engine.STEP for engine in components.engines}, reverse=True)
    groups: list[list[BaseComponent]] = [[*components.line_sources, *components.sinks]]
    groups += [[engine for engine in components.engines if step == engine.STEP] for step in steps]
    groups.append([*components.stores])
    return groups


def _note_ends(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Record what the brokers say about the ends of topics: offsets, or what is left in queues."""
    if not run.planned.experiment.uses_rabbitmq:
        _note_offsets(run, observer)
    elif components.queues:
        _note_queues(run, components, observer)


def _note_queues(run: RunControl, components: RunComponents, observer: Observer) -> None:
    """Record what is left in the queue of every group, and where streams end."""
    found, unknown = find_queue_ends(observer, components.queues)
    ends = {}
    for queue in components.queues:
        state = found.get(queue.name)
        if state is None:
            reason = unknown.get(queue.name, "no node told")
            run.recorder.tell("offsets-unknown", place=f"{queue.topic}/0", group=queue.group, reason=reason)
        elif queue.kind == "stream":
            ends[queue.topic] = state["end"]
        else:
            run.recorder.tell("queue-end", topic=queue.topic, group=queue.group, left=state["ready"])
    run.folder.write_offsets([(topic, 0, 0, end) for topic, end in ends.items()])


def _note_offsets(run: RunControl, observer: Observer) -> None:
    """Record where every partition begins and ends, as Kafka says."""
    names = [topic.name for topic in run.planned.experiment.topics]
    if not names:
        return
    found = observer.query("offsets", OFFSETS_TIMEOUT_S, topics=names)
    run.folder.write_offsets([tuple(row) for row in found["offsets"]])
    for place, reason in found["unknown"].items():
        run.recorder.tell("offsets-unknown", place=place, reason=reason)


def _collect_files(run: RunControl, components: RunComponents) -> None:
    """Keep what programs wrote in their working directory beyond ``logs``."""
    files = components.context.network.collect(run.folder.work.absolute() / FILES)
    if files:
        run.recorder.tell("files-written", folder=f"work/{FILES}", files=files[:NAMED_FILES], count=len(files))


def seal_record(run: RunControl, outcome: Outcome) -> None:
    """Seal the record; a failure of that is the outcome, unless the run had failed before."""
    from stream2gym.record.seal import seal  # nobody waits for its imports before the brokers start

    # The last progress that the view shows is the last that is known.
    run.waiter.on_tick()
    run.recorder.phase("seal")
    try:
        outcome.rows = seal(run.folder)
    except (OSError, S2gError) as problem:
        outcome.state = "failed"
        outcome.error = outcome.error or Defect(f"the record could not be sealed: {problem}")
