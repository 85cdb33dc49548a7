"""Phase ``warmup``: load before t0 that no performance figure counts.

Built-in producers send warm-up messages over the configured links, for the time that the experiment gives and until
every engine that waits for its first batch has finished one. Then they pause, and the run waits until what they sent
has been read, so that the measured load begins in a system that is warm and has no backlog. t0 follows: limits of
messages, the time of the load and the times of faults count from there.
"""

from __future__ import annotations

import time

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.death_cause import cause_in
from stream2gym.components.engine import EngineComponent
from stream2gym.components.run_context import end_of_log
from stream2gym.errors import S2gError, StartFailed
from stream2gym.execution.drain import Drain
from stream2gym.execution.drive_load import LEAD_S, apply_links_and_limits
from stream2gym.execution.lag_tracker import LagTracker
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl

# How long producers may take until their last warm-up messages are answered.
PAUSE_TIMEOUT_S = 30.0


def warm_up(run: RunControl, components: RunComponents) -> None:
    """Send warm-up messages and wait for what they are to warm up. Returns when the load can begin."""
    if not run.planned.plan.has_warmup:
        return
    run.recorder.phase("warmup")
    apply_links_and_limits(run, components)
    began = time.monotonic()
    begin_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
    checks = [lambda: find_death(components), components.find_full_record]
    run.waiter.failure_checks += checks
    for producer in components.producers:
        producer.begin_warmup(begin_ns)
    run.waiter.wait_at_most(run.planned.plan.warmup_s + LEAD_S, lambda: False)
    for engine in components.engines:
        _wait_for_first_batch(run, engine, began)
    for producer in components.producers:
        producer.end_warmup()
    is_answered = run.waiter.wait_at_most(
        PAUSE_TIMEOUT_S, lambda: all(producer.is_paused() for producer in components.producers)
    )
    behind = _wait_until_read(run, components)
    for check in checks:
        run.waiter.failure_checks.remove(check)
    took_s = round(time.monotonic() - began, 3)
    run.recorder.tell("warmed-up", took_s=took_s, sent=components.counts()["sent"], behind=behind)
    if not is_answered or behind:
        left = (
            f"{behind:,} warm-up messages were not read" if behind else "warm-up messages were not acknowledged yet"
        )
        what = f"{left} when the load began: the first figures of the load contain that work"
        run.recorder.tell("warning", what=what)


def _wait_for_first_batch(run: RunControl, engine: EngineComponent, began: float) -> None:
    """Wait until an engine has finished its first batch; StartFailed says why it did not."""
    timeout_s = engine.ready_timeout_s()
    left_s = timeout_s - (time.monotonic() - began)
    is_warm = run.waiter.wait_at_most(max(0.0, left_s), lambda: engine.is_warm() or bool(engine.why_never_warm()))
    if not is_warm or not engine.is_warm():
        never = engine.why_never_warm()
        why = never or f"{engine.why_not_warm()} after {timeout_s:g} s of warm-up (ready_timeout)"
        log = f"\n--- end of {engine.log.name}:\n{end_of_log(engine.log)}"
        raise StartFailed(f"{engine.name} on {engine.host} did not finish its first batch: {why}{log}")


def _wait_until_read(run: RunControl, components: RunComponents) -> int | None:
    """Wait until everything has been read, at most as long as the drain may take.

    Returns how many messages were left. None: nothing reads topics, or Kafka did not tell.
    """
    lag_tracker = LagTracker.of(components, looks_behind=True)
    if lag_tracker is None:
        return None
    from stream2gym.record.acknowledged import read_acknowledged  # PyArrow, as for the seal

    progress = Drain(lag_tracker, read_acknowledged(run.folder.raw))
    run.waiter.wait_at_most(float(run.planned.experiment.drain), progress.over)
    return lag_tracker.behind


def find_death(components: RunComponents) -> S2gError | None:
    """An error if a component has died before t0. Programs of the user's that consume may end when they like."""
    for part in components.all():
        if part.hopeless and part not in components.programs:
            return StartFailed(f"{part.name} on {part.host} died in the warm-up{_describe_cause(part)}")
    return None


def _describe_cause(part: BaseComponent) -> str:
    log = getattr(part, "log", None)
    own = part.cause() if isinstance(part, EngineComponent) else ""
    cause = own or (cause_in(log) if log is not None else "")
    return f": {cause}" if cause else ""
