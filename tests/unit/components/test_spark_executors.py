"""How many cores the executors of a job will have, and when they count as registered."""

from __future__ import annotations

import pytest

from stream2gym.components.spark_executors import OTHERS_S, ExecutorWatch, WorkerRoom, expected_cores

SMALL, LARGE = WorkerRoom(1, 700), WorkerRoom(4, 2048)


@pytest.mark.parametrize(
    ("workers", "properties", "cores"),
    [
        ([SMALL, LARGE], {}, 5),
        ([SMALL, LARGE], {"spark.cores.max": "2"}, 2),
        ([SMALL, LARGE], {"spark.executor.memory": "1g"}, 4),
        ([SMALL, LARGE], {"spark.executor.memory": "1g", "spark.executor.cores": "1"}, 2),
        ([LARGE, LARGE], {"spark.executor.cores": "3", "spark.cores.max": "5"}, 3),
        ([SMALL], {"spark.executor.memory": "2g"}, 1),
        ([], {}, 1),
    ],
)
def test_executors_have_the_cores_that_workers_have_room_for(
    workers: list[WorkerRoom], properties: dict[str, str], cores: int
) -> None:
    assert expected_cores(workers, properties, 512) == cores


def test_a_local_job_waits_for_no_executor() -> None:
    assert ExecutorWatch(0).have_registered(0)


def test_all_expected_cores_are_waited_for_and_some_only_for_a_while() -> None:
    now = [0.0]
    watch = ExecutorWatch(3, lambda: now[0])
    now[0] = 500.0
    assert not watch.have_registered(0), "without any executor nothing can run"
    assert not watch.have_registered(2)
    now[0] += OTHERS_S / 2
    assert not watch.have_registered(2)
    assert watch.have_registered(3)
    now[0] += OTHERS_S
    assert watch.have_registered(2), "the program may have asked for fewer"
