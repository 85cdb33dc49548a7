"""Waits of threads for a CPU, from files like the kernel's."""

from __future__ import annotations

import os
from pathlib import Path

from stream2gym.hosts.run_queue import RunQueueWaits


def thread(proc: Path, pid: int, tid: int, waited_ns: int) -> None:
    folder = proc / str(pid) / "task" / str(tid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"123456 {waited_ns} 7\n")


def test_the_waits_of_all_threads_are_summed(tmp_path: Path) -> None:
    thread(tmp_path, 7, 7, 1_000_000_000)
    thread(tmp_path, 7, 8, 500_000_000)
    thread(tmp_path, 9, 9, 250_000_000)

    assert RunQueueWaits(str(tmp_path)).waited_s(1, [7, 9]) == 1.75


def test_the_sum_does_not_shrink_when_a_thread_ends(tmp_path: Path) -> None:
    waits = RunQueueWaits(str(tmp_path))
    thread(tmp_path, 7, 7, 1_000_000_000)
    thread(tmp_path, 7, 8, 500_000_000)
    assert waits.waited_s(1, [7]) == 1.5

    (tmp_path / "7/task/8/schedstat").unlink()
    (tmp_path / "7/task/8").rmdir()
    thread(tmp_path, 7, 7, 1_200_000_000)

    assert waits.waited_s(1, [7]) == 1.7


def test_a_thread_that_could_not_be_read_for_once_is_not_counted_again(tmp_path: Path) -> None:
    waits = RunQueueWaits(str(tmp_path))
    thread(tmp_path, 7, 7, 1_000_000_000)
    thread(tmp_path, 7, 8, 500_000_000)
    assert waits.waited_s(1, [7]) == 1.5
    assert waits.waited_s(1, []) == 1.5
    thread(tmp_path, 7, 8, 600_000_000)

    assert waits.waited_s(1, [7]) == 1.6


def test_a_new_thread_with_the_number_of_one_that_ended_is_counted_from_its_beginning(tmp_path: Path) -> None:
    waits = RunQueueWaits(str(tmp_path))
    thread(tmp_path, 7, 7, 0)
    thread(tmp_path, 7, 8, 500_000_000)
    assert waits.waited_s(1, [7]) == 0.5
    (tmp_path / "7/task/8/schedstat").unlink()
    (tmp_path / "7/task/8").rmdir()
    assert waits.waited_s(1, [7]) == 0.5
    thread(tmp_path, 7, 8, 200_000_000)

    assert waits.waited_s(1, [7]) == 0.7


def test_a_kernel_that_does_not_tell_gives_no_figure(tmp_path: Path) -> None:
    (tmp_path / "7/task/7").mkdir(parents=True)

    assert RunQueueWaits(str(tmp_path)).waited_s(1, [7]) is None


def test_programs_that_ended_keep_no_files_open(tmp_path: Path) -> None:
    waits = RunQueueWaits(str(tmp_path))
    thread(tmp_path, 7, 7, 1)
    before = len(os.listdir("/proc/self/fd"))
    waits.waited_s(1, [7])
    assert len(os.listdir("/proc/self/fd")) == before + 1

    waits.keep([])

    assert len(os.listdir("/proc/self/fd")) == before


def test_this_very_process_has_an_account() -> None:
    assert RunQueueWaits().waited_s(1, [os.getpid()]) is not None
