"""A run on a machine that cannot limit the CPU of its hosts claims nothing about performance."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.api import run
from stream2gym.hosts import cgroups

PROBLEM = "no writable group hands on cpu"


@pytest.mark.long
def test_without_its_cpu_limit_a_run_has_no_figure_of_performance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = {name: cgroups.Controller(name, 2, problem=PROBLEM, remedy="run as root") for name in ("cpu", "memory")}
    monkeypatch.setattr(cgroups, "find_controllers", lambda: refused)
    changes = {"topology.hosts.h2.cpu": "50 %", "expect": "[lost == 0, latency.p99 < 1 h]"}

    result = run("hello", time="2 s", overrides=changes, out=tmp_path / "run")

    lost, latency = result.judged.judgements
    assert lost.outcome == "pass"
    assert (latency.outcome, latency.measured) == ("unknown", None)
    assert latency.reason.startswith("not measurable here: the cpu limit of h2 is not in force")
    assert PROBLEM in latency.reason
