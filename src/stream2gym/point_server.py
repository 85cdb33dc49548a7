"""A process that runs points of a sweep: ``python -m stream2gym.point_server EXPERIMENT [FOLDER]``.

FOLDER becomes the working directory with the first job; it need not exist earlier.

Standard input has one JSON object on each line: ``{"job": {...}}`` (a ``PointJob``) or ``{"stop": true}``, which asks
the run that is going on to end in order. Standard output has one line for each job, its ``PointResult``. Whatever
else is printed goes to standard error. When the input ends, so does the process, and with it all that it started.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import BinaryIO

from stream2gym.execution.view import SilentView
from stream2gym.interrupts import EXIT_CODE, Interrupts, leave
from stream2gym.point_runners import RunnerHere
from stream2gym.sweeps.point import PointJob


def main() -> int:
    """Run jobs until the input ends or the process is asked to end."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with Interrupts(ends_process=True) as interrupts:
        folder = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else ".")
        return serve(sys.argv[1], folder, sys.stdin.buffer, results, interrupts)


def serve(experiment: str, folder: str, requests: BinaryIO, results: BinaryIO, interrupts: Interrupts) -> int:
    """Run the jobs of ``requests`` one after the other in the working directory ``folder``. Returns the exit code."""
    jobs: queue.SimpleQueue[PointJob | None] = queue.SimpleQueue()
    is_busy = threading.Event()
    threading.Thread(target=_listen, args=(requests, jobs, is_busy), name="s2g-requests", daemon=True).start()
    with interrupts.orderly(lambda: jobs.put(None)), RunnerHere(experiment, interrupts) as runner:
        while not interrupts.asked and (job := jobs.get()) is not None:
            os.chdir(folder)
            result = runner.run(job, SilentView())
            is_busy.clear()
            results.write(json.dumps(result.to_json(), default=str).encode() + b"\n")
            results.flush()
    return EXIT_CODE if interrupts.asked else 0


def _listen(requests: BinaryIO, jobs: queue.SimpleQueue[PointJob | None], is_busy: threading.Event) -> None:
    for line in requests:
        message = json.loads(line)
        if "job" in message:
            is_busy.set()
            jobs.put(PointJob.from_json(message["job"]))
        else:
            os.kill(os.getpid(), signal.SIGINT)
    if is_busy.is_set():
        # Whoever wanted the result is gone. The run's namespaces end with this process.
        os._exit(EXIT_CODE)
    jobs.put(None)


if __name__ == "__main__":
    # A thread may still read the input, which would spoil an ordinary end of the interpreter.
    leave(main())
