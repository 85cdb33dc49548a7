"""Runs the points of a sweep on the workers of a Spark cluster: a Spark job of one task for each point.

Spark decides which worker runs a point. The task keeps its rows (``point_task``) on the disk of its worker, and they
are fetched a few at a time, so that the memory of neither Spark nor this process grows with a run folder. Run folders
travel through Spark and not through a shared file system, because not every cluster has one, and because the journals
of a run are memory-mapped files, which need a local disk.

A task that Spark lost, with its worker or without it, is a failed run that runs again when the sweep is resumed.
Spark never runs a point a second time by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from stream2gym.closing import ClosedOnExit
from stream2gym.errors import CannotHere, Defect, StartFailed
from stream2gym.execution.view import View
from stream2gym.software.cache import DISK_FULL
from stream2gym.sweep_cluster import first_contact
from stream2gym.sweep_cluster.cluster_context import (
    Context,
    describe_error,
    find_slots,
    is_going_on,
    open_context,
    wait_for_slots,
)
from stream2gym.sweep_cluster.experiment_files import ExperimentFiles
from stream2gym.sweep_cluster.folder_stream import receive
from stream2gym.sweep_cluster.point_task import PointTask, load_result, run_point_task
from stream2gym.sweep_cluster.worker_report import WorkerNeeds, WorkerReport, digest_package
from stream2gym.sweeps.point import NoRunnerLeft, PointJob, PointResult
from stream2gym.version import __version__

# Rows of a task that are fetched at once: pieces of 1 MiB.
ROWS_AT_ONCE = 16
# A sweep ends when the cluster has had no executor for this long.
WITHOUT_WORKERS_S = 120.0
LOOK_EVERY_S = 2.0
APPLICATION_ENDED = "the Spark application has ended; --resume starts another one"


class RunnerOnCluster(ClosedOnExit):
    """Handle of the Spark application that runs points. ``run`` may be called from several threads."""

    def __init__(self, master: str, name: str, files: ExperimentFiles) -> None:
        self._master = master
        self._files = files
        self._is_stopping = False
        self._lost_workers = ""
        self._undo = ExitStack()
        try:
            # On another thread: PySpark would handle Ctrl-C itself if the main thread opened the application.
            with ThreadPoolExecutor(1, thread_name_prefix="s2g-cluster") as opener:
                opening = opener.submit(self._undo.enter_context, open_context(master, name))
                self._context: Context = opening.result()
            self._content = self._context.broadcast(files.content)
        except BaseException:
            self._undo.close()
            raise
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="s2g-executors", daemon=True).start()

    def close(self) -> None:
        """End the application. Tasks that still run are cancelled, and their processes killed, first."""
        self._over.set()
        self._undo.close()

    def stop(self) -> None:
        """Cancel the runs that are going on. They count as interrupted."""
        self._is_stopping = True
        self._context.cancelAllJobs()

    def check_workers(self, overrides: Mapping[str, Any], seed: int) -> list[WorkerReport]:
        """Check every worker with the settings of a point. A job that fails altogether says why."""
        from pyspark import cloudpickle

        pickling: Any = cloudpickle
        files = self._files
        needs = WorkerNeeds(
            files.experiment, files.folder, files.named, dict(overrides), seed, __version__, digest_package()
        )
        slots = wait_for_slots(self._context)
        contact = first_contact.make_contact(needs.to_json(), self._content)
        pickling.register_pickle_by_value(first_contact)
        try:
            tasks = self._context.parallelize(range(slots), slots).barrier()
            reports = tasks.mapPartitionsWithIndex(contact).collect()
        except Exception as error:
            raise self._explain_failed_check(error) from error
        finally:
            pickling.unregister_pickle_by_value(first_contact)
        return sorted((WorkerReport.from_json(report) for report in reports), key=lambda one: one.host)

    def _explain_failed_check(self, error: Exception) -> Exception:
        text = describe_error(error)
        if "Cannot run program" in text or "PYTHON_VERSION_MISMATCH" in text or "different version" in text:
            remedy = (
                f"every worker needs the Python of this command at {self._context.pythonExec}, or set PYSPARK_PYTHON"
            )
            return CannotHere(f"a worker cannot start our Python: {text}", remedy)
        return StartFailed(f"the workers of {self._master} could not be checked: {text}")

    def run(self, job: PointJob, view: View) -> PointResult:
        """Run one point on some worker, and receive its run folder. The view is not told what happens in it."""
        began = time.monotonic()
        try:
            self._context.setJobGroup(job.name, f"{Path(job.folder).parent.parent.name}: {job.name}", True)
            return self._run(job)
        except Exception as error:
            if self._is_stopping:
                return PointResult("interrupted", took_s=time.monotonic() - began)
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise
            if self._lost_workers or not is_going_on(self._context):
                raise NoRunnerLeft(self._lost_workers or f"{APPLICATION_ENDED}: {describe_error(error)}") from error
            why = f"the task that ran this point was lost: {describe_error(error)}"
            return PointResult("failed", error=why, took_s=time.monotonic() - began, is_lost=True)

    def _run(self, job: PointJob) -> PointResult:
        task = PointTask(job, self._files.experiment, self._files.folder)
        rows = self._context.parallelize([task.to_json()], 1).mapPartitions(_make_task(self._content))
        keep_on_worker(rows)
        try:
            pieces = fetch_rows(rows)
            first = next(pieces, None)
            if first is None:
                raise Defect("a task ended without a result")
            result = load_result(first)
            if result.worker:
                receive(pieces, Path(job.folder))
            return result
        finally:
            rows.unpersist()

    def _watch(self) -> None:
        """Give the sweep up when the cluster has had no executor for a long time: Spark itself waits for ever."""
        since: float | None = None
        while not self._over.wait(LOOK_EVERY_S):
            try:
                has_any = find_slots(self._context) > 0
            except Exception:
                has_any = False
            if has_any:
                since = None
                continue
            since = since or time.monotonic()
            if time.monotonic() - since >= WITHOUT_WORKERS_S and not self._lost_workers:
                self._lost_workers = (
                    f"{self._master} has had no worker for {WITHOUT_WORKERS_S:g} s; start workers, and --resume"
                )
                self._context.cancelAllJobs()


def _make_task(content: Any) -> Any:
    """The function that Spark calls on a worker with the rows of a partition, of which there is one."""

    def run_rows(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
        from pyspark import TaskContext

        current = TaskContext.get()
        attempt = 0 if current is None else current.attemptNumber()
        for row in rows:
            yield from run_point_task(PointTask.from_json(row), content.value, attempt=attempt)

    return run_rows


def keep_on_worker(rows: Any) -> None:
    """Have Spark keep rows on the disk of the worker that computes them.

    If they are lost they are never computed again, because that would be a second run.
    """
    from pyspark import StorageLevel

    rows.persist(StorageLevel.DISK_ONLY)
    rows.localCheckpoint()


def fetch_rows(rows: Any) -> Iterator[bytes]:
    """All rows of the only partition, a few with each Spark job. The first job runs the point."""
    start = 0
    while True:
        got = rows.mapPartitions(_slicer(start)).collect()
        yield from got
        if len(got) < ROWS_AT_ONCE:
            return
        start += ROWS_AT_ONCE


def _slicer(start: int) -> Any:
    def take(rows: Iterable[bytes]) -> Iterator[bytes]:
        return islice(iter(rows), start, start + ROWS_AT_ONCE)

    return take
