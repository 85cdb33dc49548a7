"""The first thing that runs on a worker. It is sent by value, because the worker may not have this package.

So nothing of ours is imported before the function is called on the worker.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterable
from typing import Any

Report = dict[str, Any]


def make_contact(needs: dict[str, Any], files: Any) -> Callable[[int, Iterable[Any]], list[Report]]:
    """The function that checks workers in a job in which all tasks run at once. Each task returns a report.

    ``files`` is the broadcast of the files of the experiment. The first task on each host checks it, and the others
    return nothing.
    """

    def contact(number: int, _rows: Iterable[Any]) -> list[Report]:
        from pyspark import BarrierTaskContext

        hosts = [info.address.rpartition(":")[0] for info in BarrierTaskContext.get().getTaskInfos()]
        host = hosts[number]
        if hosts.index(host) != number:
            return []
        try:
            from stream2gym.sweep_cluster.worker_check import check_on_worker
            from stream2gym.sweep_cluster.worker_report import WorkerNeeds
        except ImportError as error:
            what = f"{sys.executable} has no stream2gym of this version: {error}"
            remedy = "install it there, or set PYSPARK_PYTHON to the Python that has it on every worker"
            lacks = {"obstacles": [{"what": what, "remedy": remedy}], "name": socket.gethostname()}
            return [{**lacks, "host": host, "slots": hosts.count(host)}]
        report = check_on_worker(WorkerNeeds.from_json(needs), files.value).to_json()
        return [{**report, "host": host, "slots": hosts.count(host)}]

    return contact
