"""A component ``a`` with two instances beside a component ``a.1``: the record of each is its own."""

from __future__ import annotations

from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.inputs import read_inputs
from stream2gym.analysis.positions import read_recorded_positions
from stream2gym.analysis.result_tables import ResourceRow
from stream2gym.analysis.sampled_tables import make_resource_tables
from stream2gym.analysis.time_series import Track
from stream2gym.components.run_context import RunContext
from stream2gym.errors import StartFailed
from stream2gym.execution.form_cluster import explain_failure
from stream2gym.judge.performance_metrics import PERFORMANCE
from stream2gym.kinds.expectation_grammar import parse_expectation
from stream2gym.record.folder import RunFolder, split_log_name
from stream2gym.record.instances import component_of, instance_label, labels_of
from stream2gym.record.journal import SENT, Journal

BOTH = ("a", "a.1")

SECOND = 1_000_000_000


def test_an_instance_is_never_named_like_another_component() -> None:
    assert instance_label("a", 1, 2) != instance_label("a.1", 1, 1)
    assert component_of(instance_label("a", 1, 2), BOTH) == "a"
    assert component_of(instance_label("a.1", 1, 1), BOTH) == "a.1"
    assert component_of(instance_label("a.1", 2, 2), BOTH) == "a.1"


def test_an_instance_in_an_earlier_record_is_still_found() -> None:
    assert component_of("a.2", ["a"]) == component_of("a.2") == "a"
    assert component_of("broker-h2", ["broker-h2"]) == "broker-h2"
    assert "a.2" in labels_of("a", 2)


def test_starts_are_counted_from_a_components_own_journals(tmp_path: Path) -> None:
    folder = RunFolder.create("x", seed=1, base=tmp_path)
    for name, instance in (("a.1", 1), ("a.1", 1), ("a.1.1", 1), ("a", 1)):
        path, identity = folder.new_journal("sent", name, instance)
        Journal(path, SENT, identity).close()
    assert [path.name for path in folder.journals_of("sent", "a", 1).values()] == ["sent.a.1.1.journal"]
    assert list(folder.journals_of("sent", "a.1", 1)) == [1, 2]
    assert folder.new_journal("sent", "a", 2)[1].incarnation == 1


def test_every_process_has_a_log_of_its_own(tmp_path: Path) -> None:
    folder = RunFolder.create("x", seed=1, base=tmp_path)
    context: Any = SimpleNamespace(folder=folder)
    logs = [
        RunContext.log_path(context, host, name, instance, instances)
        for host in ("h", "h.a")
        for name, instance, instances in (
            ("a", 1, 2),
            ("a", 2, 2),
            ("a.1", 1, 1),
            ("a.a.1", 1, 1),
            ("1", 1, 1),
        )
    ]
    assert len(set(logs)) == len(logs)
    assert split_log_name(logs[-1]) == ("h.a", "1")
    assert split_log_name(logs[2]) == ("h", "a.1")


def two_consumers(*names: str) -> FakeRun:
    run = FakeRun(
        2.0,
        topics=[{"name": "in"}, {"name": "other"}],
        brokers=[{"name": "broker-h2", "on": "h2"}],
        consumers=[
            {"name": "a", "on": "h1", "topics": ["in"], "group": "g", "instances": 2},
            {"name": "a.1", "on": "h2", "topics": ["in"], "group": "k"},
        ],
    )
    for name, position in zip(names, (10, 20, 30), strict=False):
        run.sample(1.0, "client", name, "position in/0", position)
    return run


def test_positions_belong_to_the_group_of_who_reported_them(tmp_path: Path) -> None:
    run = two_consumers(instance_label("a", 1, 2), instance_label("a", 2, 2), "a.1")
    last = read_recorded_positions(read_inputs(run.write(tmp_path / "run"))).last
    assert last == {("in", 0, "g"): (SECOND, 20), ("in", 0, "k"): (SECOND, 30)}


def test_positions_of_earlier_records_are_still_read(tmp_path: Path) -> None:
    run = two_consumers("a.2", "a.2")
    last = read_recorded_positions(read_inputs(run.write(tmp_path / "run"))).last
    assert last == {("in", 0, "g"): (SECOND, 20)}


def test_processes_are_listed_under_the_host_of_their_component(tmp_path: Path) -> None:
    inputs = read_inputs(two_consumers().write(tmp_path / "run"))
    tracks = {
        ("process", name, "rss_bytes"): Track(array("d", [0.0, 2.0]), array("d", [1.0, 1.0]))
        for name in ("a#1", "a#2", "a.1")
    }
    rows, _ = make_resource_tables(inputs, tracks)
    assert {row.component: row.host for row in rows} == {"a#1": "h1", "a#2": "h1", "a.1": "h2"}


def test_an_expectation_on_a_component_means_all_its_instances_and_no_other_component() -> None:
    rows = tuple(
        ResourceRow(name, "h1", 0.1, 0.1, 10.0, float(n), 1.0) for n, name in enumerate(("a#1", "a#2", "a.1"), 1)
    )
    analysis: Any = SimpleNamespace(resources=rows, resource_series=())

    def measured(text: str) -> dict[str, float]:
        return PERFORMANCE["memory"](parse_expectation(text), analysis, ()).values

    assert measured("memory.max(component=a) < 1 GiB") == {"a#1": 1.0, "a#2": 2.0}
    assert measured("memory.max(component=a#2) < 1 GiB") == {"a#2": 2.0}
    assert measured("memory.max(component=a.1) < 1 GiB") == {"a.1": 3.0}


def test_a_failed_start_shows_the_end_of_the_log_of_the_instance_that_died(tmp_path: Path) -> None:
    folder = RunFolder.create("x", seed=1, base=tmp_path)
    context: Any = SimpleNamespace(folder=folder)
    context.log_path = lambda *args: RunContext.log_path(context, *args)
    processes = [SimpleNamespace(instance=n, state="died" if n == 2 else "running", over=n == 2) for n in (1, 2, 3)]
    for process in processes:
        log = context.log_path("h1", "gen", process.instance, 3)
        log.write_text(f"words of instance {process.instance}\n")
    part: Any = SimpleNamespace(
        name="gen", host="h1", processes=processes, over=False, hopeless=True, ready=lambda: False
    )
    with pytest.raises(StartFailed) as failed, explain_failure(context, [part], "clients"):
        raise StartFailed("it ended")
    told = str(failed.value)
    assert "h1.gen#2.log" in told
    assert "words of instance 2" in told
    assert "instance 1" not in told
