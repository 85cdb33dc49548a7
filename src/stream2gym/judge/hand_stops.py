"""Consumers that were stopped by hand while messages for them were still sent, in words. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from stream2gym.analysis.job_history import STOPPED, find_jobs
from stream2gym.analysis.result_tables import Analysis, AuditRow
from stream2gym.judge.measurement import Events


def describe_hand_stops(events: Events, only: Collection[str] | None = None) -> Iterator[str]:
    """A sentence for each job that was stopped by hand, or for those in ``only``."""
    for job in find_jobs(events):
        if job.did == STOPPED and (only is None or job.component in only):
            yield f"{job.component} was stopped by hand at {job.at_s:.1f} s"


def explain_unread(rows: Sequence[AuditRow], analysis: Analysis, events: Events) -> list[str]:
    """Why groups did not read on, where that is known: their consumers were stopped by hand."""
    behind = {row.group for row in rows if row.in_flight}
    members = {client.name for client in analysis.clients if client.kind == "consumer" and client.group in behind}
    return list(describe_hand_stops(events, members))
