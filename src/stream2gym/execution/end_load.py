"""The end of the load: producers stop, and programs of the user's get the time to end by themselves.

Built-in producers are asked to stop and wait for what is not acknowledged yet; the load lasts until they have ended.
Programs know from their environment when the load ends. What they send in their grace period after it counts for
delivery; rates are those of the load.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

from stream2gym.components.base_component import stop_together
from stream2gym.components.program_component import ProgramComponent
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl

# A load that lasts so much longer than planned is told.
OVERRUN_S = 1.0


def end_load(run: RunControl, components: RunComponents, t0_ns: int) -> None:
    """Stop the built-in producers, then let the programs that produce end, and stop those that do not."""
    over_ns = time.monotonic_ns()
    stop_together(components.producers)
    _tell_overrun(run, components, t0_ns, over_ns)
    programs = components.producing_programs()
    if any(program.grace_s > 0 and not program.over for program in programs):
        run.recorder.phase("grace")
    let_programs_end(run, programs, over_ns)


def let_programs_end(run: RunControl, programs: Sequence[ProgramComponent], since_ns: int) -> None:
    """Wait until programs have ended by themselves; ask each to stop when its grace since ``since_ns`` is over."""
    for grace_s, several in groupby(sorted(programs, key=_grace_s), key=_grace_s):
        group = list(several)
        left_s = grace_s - (time.monotonic_ns() - since_ns) / 1e9
        run.waiter.wait_at_most(max(0.0, left_s), lambda group=group: all(one.over for one in group))  # type: ignore[misc]
        for program in group:
            # A consumer cannot know when everything has been sent: most run until they are asked to stop.
            if grace_s > 0 and not program.over and program.kind == "producer":
                run.recorder.tell("grace-over", component=program.name, host=program.host, grace_s=grace_s)
        stop_together(group)


def _grace_s(program: ProgramComponent) -> float:
    return program.grace_s


def _tell_overrun(run: RunControl, components: RunComponents, t0_ns: int, over_ns: int) -> None:
    """Record which built-in producers kept the load going after it was over, if any did so for long."""
    waiting = [
        producer.name
        for producer in components.producers
        if any((process.ended_ns or 0) > over_ns + OVERRUN_S * 1e9 for process in producer.processes)
    ]
    if waiting:
        run.recorder.tell(
            "load-overran",
            waiting=waiting,
            planned_s=round((over_ns - t0_ns) / 1e9, 1),
            load_s=round((time.monotonic_ns() - t0_ns) / 1e9, 1),
        )
