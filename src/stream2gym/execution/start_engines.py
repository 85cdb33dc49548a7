"""Phase ``engines``: stores, sinks, engines and line sources do their work before the load begins."""

from __future__ import annotations

import time
from pathlib import Path

from stream2gym.components.death_cause import cause_in
from stream2gym.components.engine import EngineComponent
from stream2gym.components.line_source import LineSource
from stream2gym.components.run_context import end_of_log
from stream2gym.components.sink import SinkComponent
from stream2gym.components.store import StoreComponent
from stream2gym.errors import StartFailed
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.waiter import Waiter

STORES_TIMEOUT_S = 90.0
SINKS_TIMEOUT_S = 60.0


def start_engines(run: RunControl, components: RunComponents) -> None:
    """Wait for the stores, start sinks and engines, and return when all of them are ready. Topics are there."""
    if not components.processing():
        return
    run.recorder.phase("engines")
    for store in components.stores:
        _wait_until_ready(run.waiter, store, STORES_TIMEOUT_S)
    for source in components.line_sources:
        _wait_until_ready(run.waiter, source, STORES_TIMEOUT_S)
    for sink in components.sinks:
        sink.start()
    for engine in components.engines:
        engine.open_gate()
    for step in sorted({engine.STEP for engine in components.engines}):
        _start_step(run.waiter, [engine for engine in components.engines if step == engine.STEP])
    for sink in components.sinks:
        _wait_until_ready(run.waiter, sink, SINKS_TIMEOUT_S)
    for part in components.processing():
        run.recorder.tell("ready", component=part.name, host=part.host)


def _start_step(waiter: Waiter, engines: list[EngineComponent]) -> None:
    """Start the engines of one step that have not been started early, and wait for all of the step."""
    for engine in engines:
        if engine.processes[0].state == "new":
            engine.start()
    began = time.monotonic()
    for engine in engines:
        _wait_until_ready(waiter, engine, engine.ready_timeout_s() - (time.monotonic() - began))


def _wait_until_ready(
    waiter: Waiter, part: EngineComponent | StoreComponent | SinkComponent | LineSource, timeout_s: float
) -> None:
    """Wait for a component; StartFailed says why it is not ready, with the end of its log."""
    if not waiter.wait_at_most(max(0.0, timeout_s), lambda: part.ready() or part.hopeless):
        why = f"{part.name} on {part.host} is not ready after {timeout_s:.0f} s: {part.why_not_ready()}"
        raise StartFailed(why + _end_of(part.log))
    if not part.ready():
        cause = part.cause() or cause_in(part.log) or "no cause is known"
        how = "died before it was ready" if part.over else "cannot get ready"
        raise StartFailed(f"{part.name} on {part.host} {how}: {cause}{_end_of(part.log)}")


def _end_of(log: Path) -> str:
    return f"\n--- end of {log.name}:\n{end_of_log(log)}"
