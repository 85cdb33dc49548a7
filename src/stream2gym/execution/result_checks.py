"""The checks of an experiment: programs of the user's that know the right results and read the dump of the run.

What they report becomes samples, so that the judge finds it in the record like everything else.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from time import monotonic
from typing import Any

from stream2gym.components.run_context import RunContext, end_of_log
from stream2gym.components.status_lines import is_number, odd_numbers_in, parse_status_line, samples_in
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.store_audit import dump_folder
from stream2gym.execution.waiter import Waiter
from stream2gym.hosts.environment import clean_environment
from stream2gym.software.child_process import run_guarded
from stream2gym.spec.model import Check

CHECK_TIMEOUT_S = 300.0
CHECK_AFTER_INTERRUPT_S = 10.0


class _CheckDeadline:
    """When the time of a check is over; it has less time once the run was asked to end."""

    def __init__(self, waiter: Waiter) -> None:
        self._waiter = waiter
        self._began = monotonic()

    def why_over(self) -> str:
        """Why the check has to end now; empty while it may go on."""
        took_s, asked_at = monotonic() - self._began, self._waiter.interrupted_at
        if took_s > CHECK_TIMEOUT_S:
            return f"it did not end within {CHECK_TIMEOUT_S:g} s"
        if asked_at is not None and monotonic() > max(asked_at, self._began) + CHECK_AFTER_INTERRUPT_S:
            return f"it did not end within {CHECK_AFTER_INTERRUPT_S:g} s after the interrupt"
        return ""


def run_checks(run: RunControl, components: RunComponents) -> None:
    """Let the checks of the experiment compare what the audit wrote down with what they know to be right.

    Captures end first, so that checks find their files complete.
    """
    network = components.context.network
    if run.planned.experiment.checks and network.failure is None:
        for link in run.planned.captured_links():
            run.attempt(partial(network.fabric.stop_capture, link))
    for check in run.planned.experiment.checks:
        run_check(components.context, check, run.waiter)


def run_check(context: RunContext, check: Check, waiter: Waiter) -> None:
    """Run one check outside the emulated network; its numbers become samples, its failure an event."""
    base = context.base
    log = context.folder.logs / f"check.{check.name}.log"
    environment = clean_environment(os.environ) | {
        "S2G_RUN": str(context.folder.path.absolute()),
        "S2G_DUMP": str(dump_folder(context)),
        "S2G_SEED": str(context.plan.seed),
        "PYTHONUNBUFFERED": "1",
    }
    argv = [sys.executable, str(base / check.app), *check.args]
    with log.open("wb") as errors:
        try:
            code, output = run_guarded(argv, base, environment, errors, _CheckDeadline(waiter).why_over)
        except OSError as error:
            context.tell("check-failed", check=check.name, reason=str(error))
            return
        report: dict[str, Any] = {}
        for line in output.splitlines():
            report |= parse_status_line(line) or {}
            errors.write(line + b"\n")
    mismatches = report.get("mismatches")
    if code != 0 or not is_number(mismatches) or odd_numbers_in(report):
        odd = ", ".join(odd_numbers_in(report))
        why = f"it stated no finite number for {odd}" if odd else "it said nothing about mismatches"
        context.tell("check-failed", check=check.name, reason=(end_of_log(log) if code else "") or why)
        return
    for metric, value in samples_in(report):
        context.sample("check", check.name, metric, value)
    context.tell("checked", check=check.name, **report)
