"""What the kernel says about the machine, and what becomes a sample of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.monitors.machine_use import (
    CpuTimes,
    MachineUseMonitor,
    cpu_shares,
    read_cpu_times,
    read_memory,
    read_moved_bytes,
)
from tests.unit.monitors.test_monitors import Recorded

MEMINFO = """\
MemTotal:       24684100 kB
MemFree:         1000000 kB
MemAvailable:   20000000 kB
SwapTotal:          2048 kB
SwapFree:           1024 kB
HugePages_Total:       0
"""
STAT = "cpu  100 0 100 700 50 0 0 50 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
VMSTAT = "nr_free_pages 5\npgpgin 10\npgpgout 20\npswpin 3\n"


def test_memory_in_use_is_what_programs_cannot_get() -> None:
    found = read_memory(MEMINFO)
    assert found["used_bytes"] == (24684100 - 20000000) * 1024
    assert found["total_bytes"] == 24684100 * 1024
    assert found["swap_used_bytes"] == 1024 * 1024


def test_a_machine_without_swap_uses_none() -> None:
    assert read_memory("MemTotal: 10 kB\nMemAvailable: 4 kB\n")["swap_used_bytes"] == 0


def test_times_of_all_cpus_are_in_the_first_line_and_an_old_kernel_tells_no_steal() -> None:
    assert read_cpu_times(STAT.splitlines()[0]) == CpuTimes(1000, 700, 50, 50)
    assert read_cpu_times("cpu 1 2 3 4 5") == CpuTimes(15, 4, 5, 0)
    with pytest.raises(ValueError, match="does not begin with cpu"):
        read_cpu_times("intr 1 2 3")


def test_shares_are_of_the_time_between_two_looks() -> None:
    before = CpuTimes(1000, 700, 50, 50)
    shares = cpu_shares(before, CpuTimes(1100, 720, 60, 90))
    assert shares == {"busy": pytest.approx(0.3), "io_wait": pytest.approx(0.1), "steal": pytest.approx(0.4)}
    assert cpu_shares(before, before) == {}


def test_what_disks_moved_is_told_in_kibibytes() -> None:
    assert read_moved_bytes(VMSTAT) == (10 * 1024, 20 * 1024)


def test_rates_and_shares_begin_with_the_second_look(tmp_path: Path) -> None:
    for name, text in (("meminfo", MEMINFO), ("stat", STAT), ("vmstat", VMSTAT)):
        (tmp_path / name).write_text(text)
    recorded = Recorded()
    monitor = MachineUseMonitor(replace(recorded.run(), folder=tmp_path), tmp_path)
    monitor.look()
    assert {(obj, metric) for obj, metric, _ in recorded.samples} == {
        ("memory", "used_bytes"), ("memory", "total_bytes"), ("memory", "swap_used_bytes"), ("disk", "free_bytes"),
    }  # fmt: skip
    (tmp_path / "stat").write_text("cpu  200 0 100 700 50 0 0 50 0 0\n")
    monitor.look()
    assert recorded.value("cpu", "busy") == 1.0
    assert recorded.value("disk", "written_Bps") == 0
    assert recorded.value("disk", "free_bytes") > 0
