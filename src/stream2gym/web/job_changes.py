"""What was done by hand to the jobs of a run, as the page shows it at a moment: joined, moved, stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stream2gym.analysis.job_history import MOVED, STOPPED, SUBMITTED, place_jobs
from stream2gym.analysis.result_tables import JobRow
from stream2gym.plan.planned import Plan


@dataclass
class JobChanges:
    """The changes so far, each with its time, in order."""

    changes: list[tuple[int, JobRow]] = field(default_factory=list)

    def add(self, at_ns: int, job: JobRow) -> None:
        self.changes.append((at_ns, job))

    def until(self, at_ns: int) -> list[tuple[int, JobRow]]:
        return [(then_ns, job) for then_ns, job in self.changes if then_ns <= at_ns]

    def plan_at(self, plan: Plan, at_ns: int) -> Plan:
        """The plan with the components that were there at a moment, each on the host that it was on then."""
        done = [job for _, job in self.until(at_ns)]
        later = [job for then_ns, job in self.changes if then_ns > at_ns]
        return place_jobs(plan, done, later)

    def picture_at(self, at_ns: int) -> int:
        """The number of the picture at a moment: another one for each job that joined or was moved."""
        return sum(job.did in (SUBMITTED, MOVED) for _, job in self.until(at_ns))

    def list_at(self, at_ns: int, t0_ns: int, components: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The jobs that something was done to, with what it was, where they are and how they are."""
        done = self.until(at_ns)
        found = []
        for name in dict.fromkeys(job.component for _, job in done):
            changes = [
                {"did": job.did, "t": round((then_ns - t0_ns) / 1e9, 3), "host": job.host, "to": job.to}
                for then_ns, job in done
                if job.component == name
            ]
            part = components.get(name, {})
            facts = {key: part.get(key, "") for key in ("kind", "type", "host", "state", "reason")}
            found.append({"name": name, **facts, "changes": changes})
        return found

    def is_stopped(self, name: str, at_ns: int) -> bool:
        """Whether a job was stopped by hand before a moment."""
        return any(job.component == name and job.did == STOPPED for _, job in self.until(at_ns))
