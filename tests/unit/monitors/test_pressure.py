"""The CPU pressure of the machine and the limits of hosts, as the kernel counts them, and what becomes a sample."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from stream2gym.hosts.cgroups import Controller, count_throttled
from stream2gym.monitors import machine
from stream2gym.monitors.machine import MachineMonitor, read_pressure_s
from tests.unit.monitors.test_monitors import Recorded

KERNEL = """\
some avg10=80.48 avg60=79.39 avg300=77.20 total=14871147
full avg10=0.00 avg60=0.00 avg300=0.00 total=3
"""


def test_the_time_in_which_some_program_waited_is_in_seconds(tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(KERNEL, "ascii")
    assert read_pressure_s(tmp_path / "cpu") == pytest.approx(14.871147)


@pytest.mark.parametrize("text", ["", "full avg10=0.00 total=3\n", "some avg10=0.00 total=\n"])
def test_what_is_not_counted_is_unknown_and_not_zero(text: str, tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(text, "ascii")
    assert read_pressure_s(tmp_path / "cpu") is None
    assert read_pressure_s(tmp_path / "none") is None


def test_the_pressure_is_sampled_where_the_kernel_counts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cpu"
    monkeypatch.setattr(machine, "read_pressure_s", lambda: read_pressure_s(file))
    recorded = Recorded()
    monitor = MachineMonitor(recorded.run(network_with({})))
    monitor.look()
    assert recorded.samples == []
    file.write_text(KERNEL, "ascii")
    monitor.look()
    assert recorded.samples == [("cpu", "pressure_s", pytest.approx(14.871147))]


def test_how_often_a_host_reached_its_limit_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "read_pressure_s", lambda: None)
    recorded = Recorded()
    MachineMonitor(recorded.run(network_with({"h1": 20}))).look()
    assert recorded.samples == [("h1", "limit_reached", 20)]


def test_the_counts_of_a_limit_are_read_from_its_group(tmp_path: Path) -> None:
    group = tmp_path / "run" / "h1"
    group.mkdir(parents=True)
    controller = Controller("cpu", 2, base=str(tmp_path))
    assert count_throttled("run", "h1", controller) is None
    (group / "cpu.stat").write_text("usage_usec 12\nnr_periods 50\nnr_throttled 20\nthrottled_usec 7\n")
    assert count_throttled("run", "h1", controller) == 20


def network_with(throttled: dict[str, int]) -> SimpleNamespace:
    """A network of which a monitor sees only the limits of its hosts."""
    return SimpleNamespace(limits=SimpleNamespace(count_throttled=lambda: throttled))
