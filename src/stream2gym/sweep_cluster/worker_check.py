"""Checks what a worker needs: ``python -m stream2gym.sweep_cluster.worker_check EXPERIMENT FOLDER``.

The one line of standard input is ``{"needs": {...}}`` (``WorkerNeeds``), the one line of standard output the
``WorkerReport``. Whatever else is printed goes to standard error. Software that is missing is fetched now, so that
the points need not wait for it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from stream2gym.components.engine import prepare_engines
from stream2gym.components.store import prepare_stores
from stream2gym.errors import BadInput, CannotHere, S2gError
from stream2gym.hosts.checks import Check, State, machine_checks
from stream2gym.prepare import prepare_experiment
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.fetch import silent
from stream2gym.software.rabbitmq_software import find_rabbitmq
from stream2gym.spec.model import Experiment
from stream2gym.sweep_cluster.worker_process import start_on_worker
from stream2gym.sweep_cluster.worker_report import Obstacle, WorkerNeeds, WorkerReport, check_version, digest_package
from stream2gym.sweeps.job_limits import read_free_bytes

MODULE = "stream2gym.sweep_cluster.worker_check"
# Limitations that the user must know: how packets move, and whether their time is kept under load. Limits of hosts
# that an experiment asks for are obstacles.
_MATTERS = ("devices", "priority")


def check_on_worker(needs: WorkerNeeds, content: bytes) -> WorkerReport:
    """Check this machine in a process of its own. Spark's Python process calls this on a worker."""
    with start_on_worker(MODULE, needs.experiment, needs.folder, content) as (process, _scratch):
        answer = process.ask({"needs": needs.to_json()})
        if answer is None:
            what = f"the check of this worker {process.describe_end()}"
            return WorkerReport(name=socket.gethostname(), obstacles=(Obstacle(what, "s2g doctor shows more there"),))
        return WorkerReport.from_json(answer)


def check_machine(needs: WorkerNeeds, experiment: Path) -> WorkerReport:
    """What this machine has, and all that it lacks."""
    temporary = tempfile.gettempdir()
    report = WorkerReport(
        name=socket.gethostname(),
        cores=os.cpu_count() or 1,
        free_memory=read_free_bytes(),
        free_disk=shutil.disk_usage(temporary).free,
        disk=temporary,
    )
    checks = machine_checks()
    obstacles = check_version(needs, digest_package())
    if not obstacles:
        obstacles = [*_describe(checks, "missing"), *_find_obstacles(needs, experiment)]
    limitations = [lack for lack in _describe(checks, "limited") if lack.what.startswith(_MATTERS)]
    return replace(report, obstacles=tuple(obstacles), limitations=tuple(limitations))


def _describe(checks: Sequence[Check], state: State) -> list[Obstacle]:
    return [Obstacle(f"{check.name}: {check.detail}", check.remedy) for check in checks if check.state == state]


def _find_obstacles(needs: WorkerNeeds, experiment: Path) -> Iterator[Obstacle]:
    missing = [name for name in needs.named if not Path(name).is_file()]
    for name in missing:
        yield Obstacle(f"the experiment names {name}, which is not there", "put it there, or name it relatively")
    if missing:
        return
    try:
        prepared = prepare_experiment(str(experiment), overrides=needs.overrides, seed=needs.seed)
        prepared.check_runnable()
    except BadInput as error:
        yield Obstacle(f"the experiment is not sound there: {error}", "the files that it names must be there")
        return
    yield from (Obstacle(one.what, one.remedy) for one in prepared.obstacles)
    yield from _find_missing_software(prepared.experiment, prepared.loaded.base)


def _find_missing_software(experiment: Experiment, base: Path) -> Iterator[Obstacle]:
    try:
        prepare_engines(experiment.engines, base, silent)
        prepare_stores(experiment.stores, silent)
        if any(broker.type == "kafka" for broker in experiment.brokers):
            ensure_kafka(experiment.kafka.version, experiment.kafka.java)
        if experiment.uses_rabbitmq:
            find_rabbitmq()
    except CannotHere as error:
        yield Obstacle(error.what, error.remedy)
    except S2gError as error:
        yield Obstacle(
            f"software cannot be fetched: {error}", "s2g setup there, with a network or a filled S2G_CACHE"
        )


def main() -> int:
    """Answer one request."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    needs = WorkerNeeds.from_json(json.loads(sys.stdin.readline())["needs"])
    experiment, folder = sys.argv[1:]
    os.chdir(folder)
    answers.write(json.dumps(check_machine(needs, Path(experiment)).to_json()) + "\n")
    answers.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
