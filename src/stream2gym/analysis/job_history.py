"""What was done by hand to the jobs of a run, as its events tell it, and where components are because of it. Pure.

Read are the events ``job-submitted`` (component, host), ``job-moved`` (component, host, to) and ``job-stopped``
(component, host). Analysis, judge, report and page all ask here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stream2gym.analysis.result_tables import JobRow
from stream2gym.analysis.run_history import Event, time_of
from stream2gym.plan.planned import Plan

SUBMITTED, MOVED, STOPPED = "submitted", "moved", "stopped"
_EVENTS = {"job-submitted": SUBMITTED, "job-moved": MOVED, "job-stopped": STOPPED}


def find_job(event: Event) -> JobRow | None:
    """What an event says was done to a job; None if it says nothing of that."""
    did = _EVENTS.get(str(event.get("event")))
    if did is None or not event.get("component"):
        return None
    return JobRow(
        str(event["component"]), did, time_of(event), str(event.get("host", "")), str(event.get("to") or "")
    )


def find_jobs(events: Iterable[Event]) -> tuple[JobRow, ...]:
    """Everything that was done to jobs, in the order of the events."""
    return tuple(job for event in events if (job := find_job(event)) is not None)


def place_jobs(plan: Plan, done: Iterable[JobRow], later: Iterable[JobRow] = ()) -> Plan:
    """The plan with every component on the host that it was on after all this was ``done``.

    What is submitted ``later`` is not in it yet.
    """
    moved = {job.component: job.to for job in done if job.did == MOVED}
    absent = {job.component for job in later if job.did == SUBMITTED}
    if not moved and not absent:
        return plan
    parts = tuple(
        replace(part, host=moved.get(part.name, part.host)) for part in plan.components if part.name not in absent
    )
    return replace(plan, components=parts)
