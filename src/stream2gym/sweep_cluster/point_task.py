"""The task that runs one point on a worker. Spark's Python process calls ``run_point_task``.

Its rows are the result of the run as JSON, and then the run folder in pieces. Spark keeps the rows on the disk of the
worker, and the command fetches them a few at a time (``cluster_runner``).
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from stream2gym.jsonable import Jsonable
from stream2gym.point_process import POINT_SERVER, ask_for_run
from stream2gym.sweep_cluster.folder_stream import list_folder, pack
from stream2gym.sweep_cluster.worker_process import start_on_worker
from stream2gym.sweeps.point import PointJob, PointResult
from stream2gym.sweeps.sweep_folder import thin_run_folder

RAN_BEFORE = "Spark began this point a second time, because the worker of the first time was lost"


@dataclass(frozen=True)
class PointTask(Jsonable):
    """A point for a worker. ``experiment`` and ``folder`` are absolute names on the machine of the command."""

    job: PointJob
    experiment: str
    folder: str


def run_point_task(task: PointTask, content: bytes, *, attempt: int) -> Iterator[bytes]:
    """Run the point. ``content`` are the files of the experiment, ``attempt`` counts from 0."""
    if attempt > 0:
        yield dump_result(PointResult("failed", error=RAN_BEFORE, is_lost=True))
        return
    with start_on_worker(POINT_SERVER, task.experiment, task.folder, content) as (process, scratch):
        folder = scratch / Path(task.job.folder).name
        result = ask_for_run(process, replace(task.job, folder=str(folder)))
        worker = socket.gethostname()
        error = f"on worker {worker}: {result.error}" if result.error else ""
        yield dump_result(replace(result, worker=worker, error=error))
        if folder.is_dir():
            thin_run_folder(folder, task.job.keep, result)
            yield from pack(list_folder(folder))


def dump_result(result: PointResult) -> bytes:
    return json.dumps(result.to_json(), default=str).encode()


def load_result(row: bytes) -> PointResult:
    return PointResult.from_json(json.loads(row))
