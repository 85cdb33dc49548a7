"""What was done by hand to the jobs of a run, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from stream2gym.analysis.job_history import MOVED, SUBMITTED
from stream2gym.analysis.result_tables import JobRow
from stream2gym.findings.finding import Words, compose, count, join_words, moment, name

_MOST_TOLD = 3
EVIDENCE = "table-jobs"


def describe_jobs(jobs: Sequence[JobRow]) -> Words:
    """What was done to all jobs of a run, as one part of a sentence. Empty: nothing was."""
    told = [_describe_job(component, jobs) for component in dict.fromkeys(job.component for job in jobs)]
    more = len(told) - _MOST_TOLD
    if more > 0:
        others = "{more} more job was" if more == 1 else "{more} more jobs were"
        last = compose(others + " submitted, moved or stopped by hand", more=count(more, EVIDENCE))
        told = [*told[:_MOST_TOLD], last]
    return join_words(told, "; ")


def _describe_job(component: str, jobs: Sequence[JobRow]) -> Words:
    """Everything that was done to one job."""
    done = [_describe_change(job) for job in jobs if job.component == component]
    return compose("{who} was {done} by hand", who=name(component), done=join_words(done, ", ", " and "))


def _describe_change(job: JobRow) -> Words:
    at = moment(job.at_s, EVIDENCE)
    if job.did == SUBMITTED:
        return compose("submitted to {host} at {at}", host=name(job.host), at=at)
    if job.did == MOVED:
        return compose("moved from {host} to {to} at {at}", host=name(job.host), to=name(job.to), at=at)
    return compose("stopped at {at}", at=at)
