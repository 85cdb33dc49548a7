"""What a worker of a cluster needs to run points of a sweep (``WorkerNeeds``), what it has (``WorkerReport``), and
whether that is enough. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream2gym.errors import CannotHere
from stream2gym.jsonable import Jsonable
from stream2gym.own_python import PACKAGE
from stream2gym.sweeps.job_limits import CORES_OF_RUN, SPARE_SHARE
from stream2gym.sweeps.run_points import LEAST_FREE
from stream2gym.version import __version__

MIB = 1024 * 1024


@dataclass(frozen=True)
class WorkerNeeds(Jsonable):
    """What is checked on a worker. Names of files are absolute names on the machine of the command."""

    experiment: str
    folder: str
    named: tuple[str, ...]
    # Of the first point.
    overrides: dict[str, Any]
    seed: int
    version: str
    digest: str


@dataclass(frozen=True)
class Obstacle(Jsonable):
    """Something that a worker lacks, and what to do about it."""

    what: str
    remedy: str


@dataclass(frozen=True)
class WorkerReport(Jsonable):
    """What a worker has. ``host`` is its name for Spark, ``name`` is the name that the machine has for itself."""

    host: str = ""
    name: str = ""
    # Tasks that Spark runs there at once.
    slots: int = 0
    cores: int = 0
    free_memory: int = 0
    free_disk: int = 0
    # Where runs are kept until they are sent.
    disk: str = ""
    obstacles: tuple[Obstacle, ...] = field(default=())
    # What makes its runs less exact.
    limitations: tuple[Obstacle, ...] = field(default=())

    @property
    def label(self) -> str:
        return self.host if self.name in ("", self.host) else f"{self.host} ({self.name})"


def digest_package() -> str:
    """A checksum of all modules of this package, which tells two checkouts of one version apart."""
    digest = hashlib.sha256()
    root = Path(PACKAGE)
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def check_version(needs: WorkerNeeds, digest: str) -> list[Obstacle]:
    """Whether this machine runs points as the machine of the command would."""
    remedy = "install the same stream2gym on every worker"
    if needs.version != __version__:
        return [Obstacle(f"has stream2gym {__version__}, the command has {needs.version}", remedy)]
    if needs.digest != digest:
        return [Obstacle(f"its stream2gym {__version__} is not the same code as that of the command", remedy)]
    return []


def check_workers(reports: Sequence[WorkerReport], jobs: int, run_bytes: int) -> tuple[str, ...]:
    """Warnings about the workers. CannotHere names every worker that cannot run points, with all that it lacks."""
    obstacles = [(one, lack) for one in reports for lack in (*one.obstacles, *_find_shortages(one, jobs, run_bytes))]
    if obstacles:
        what = "\n".join(f"worker {one.label}: {lack.what}" for one, lack in obstacles)
        remedies = dict.fromkeys(f"on {one.label}: {lack.remedy}" for one, lack in obstacles)
        raise CannotHere(what, "; ".join(remedies))
    limited = [f"worker {one.label}: {lack.what} ({lack.remedy})" for one in reports for lack in one.limitations]
    crowded = [
        f"worker {one.label} runs {at_once} points at once on {one.cores} cores: latencies, rates and other figures "
        "of time are spoiled; figures of delivery are not. A higher spark.task.cpus, or a lower --jobs, avoids it"
        for one in reports
        if (at_once := min(one.slots, jobs)) > 1 and at_once * CORES_OF_RUN > one.cores
    ]
    return (*limited, *crowded)


def _find_shortages(report: WorkerReport, jobs: int, run_bytes: int) -> list[Obstacle]:
    at_once = max(1, min(report.slots, jobs))
    found = []
    if report.free_memory and report.free_memory * SPARE_SHARE < at_once * run_bytes:
        what = (
            f"{report.free_memory / MIB:,.0f} MiB of memory are free, and {at_once} at once take about "
            f"{at_once * run_bytes / MIB:,.0f} MiB"
        )
        found.append(Obstacle(what, "free some memory, or let Spark run fewer tasks there (spark.task.cpus, --jobs)"))
    if report.disk and report.free_disk < at_once * LEAST_FREE:
        what = (
            f"{report.free_disk / MIB:,.0f} MiB are free in {report.disk}, {at_once * LEAST_FREE / MIB:,.0f} needed"
        )
        found.append(Obstacle(what, "make room there, or set TMPDIR for the Spark worker"))
    return found
