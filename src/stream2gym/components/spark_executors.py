"""The executors of a Spark job on a standalone cluster: how many cores they will have, and whether they are there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# After the first executor, how long the run waits for the others that the workers have room for.
OTHERS_S = 20.0

_MEMORY = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_MEBIBYTES = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}


@dataclass(frozen=True)
class WorkerRoom:
    """What one worker has for executors."""

    cores: int
    memory_mb: int


def expected_cores(workers: Sequence[WorkerRoom], properties: Mapping[str, str], executor_mb: int) -> int:
    """The cores of all executors that the workers have room for, as Spark's properties ask for them; at least 1.

    Without ``spark.executor.cores`` a job has one executor on each worker, with all its cores. With it, as many
    executors as fit. ``spark.cores.max`` limits their sum. A worker without enough memory gets no executor.
    """
    wanted_mb = _read_memory_mb(properties.get("spark.executor.memory", "")) or executor_mb
    each = _read_number(properties.get("spark.executor.cores", ""))
    total = 0
    for worker in workers:
        fitting = int(worker.memory_mb // wanted_mb) if wanted_mb else 1
        if fitting:
            total += worker.cores if each is None else min(worker.cores // each, fitting) * each
    most = _read_number(properties.get("spark.cores.max", ""))
    if most is not None:
        total = min(total, most if each is None else most // each * each)
    return max(1, total)


class ExecutorWatch:
    """Tells whether the executors of a job have registered: as many as the workers have room for.

    The program itself may ask for fewer, so that some time after the first executor those that are there will do.
    """

    def __init__(self, expected: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._expected = expected
        self._clock = clock
        # When the first executor was seen; None: there is none.
        self._since_s: float | None = None

    def have_registered(self, cores: int) -> bool:
        """Whether executors with so many cores together are all that are waited for."""
        if cores >= self._expected:
            return True
        if cores and self._since_s is None:
            self._since_s = self._clock()
        return self._since_s is not None and self._clock() - self._since_s > OTHERS_S


def _read_number(text: str) -> int | None:
    return int(text) if text.isdigit() and int(text) else None


def _read_memory_mb(text: str) -> float | None:
    """A size as Spark writes it (``512m``, ``1g``) in MiB; None: it is none. Without a unit Spark means MiB."""
    found = _MEMORY.fullmatch(text.strip())
    return None if found is None else int(found[1]) * _MEBIBYTES[found[2].lower() or "m"]
