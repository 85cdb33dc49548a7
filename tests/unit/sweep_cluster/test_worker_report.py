"""What a worker lacks is told by its name, with the remedy, before a point runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.errors import BadInput, CannotHere
from stream2gym.hosts.checks import Check
from stream2gym.prepare import prepare_experiment
from stream2gym.spec.readers.bundled_examples import find_experiment
from stream2gym.sweep_cluster import experiment_files
from stream2gym.sweep_cluster.cluster_context import describe_error
from stream2gym.sweep_cluster.experiment_files import ExperimentFiles, collect_files, place_below
from stream2gym.sweep_cluster.folder_stream import unpack
from stream2gym.sweep_cluster.point_task import RAN_BEFORE, PointTask, load_result, run_point_task
from stream2gym.sweep_cluster.worker_check import check_machine
from stream2gym.sweep_cluster.worker_process import worker_environment
from stream2gym.sweep_cluster.worker_report import (
    MIB,
    Obstacle,
    WorkerNeeds,
    WorkerReport,
    check_version,
    check_workers,
    digest_package,
)
from stream2gym.sweeps.check_points import find_texts
from stream2gym.sweeps.point import PointJob
from stream2gym.version import __version__

RUN_BYTES = 1000 * MIB
GOOD = WorkerReport(
    "10.1.0.1", "alpha", slots=1, cores=4, free_memory=8000 * MIB, free_disk=10_000 * MIB, disk="/tmp"
)
NEEDS = WorkerNeeds("/x/experiment.yaml", "/x", (), {}, 1, __version__, "abc")


def refuse(*reports: WorkerReport, jobs: int = 1) -> CannotHere:
    with pytest.raises(CannotHere) as caught:
        check_workers(reports, jobs, RUN_BYTES)
    return caught.value


def test_good_workers_have_no_warnings() -> None:
    assert check_workers([GOOD, replace(GOOD, host="10.1.0.2")], 2, RUN_BYTES) == ()


def test_every_worker_that_lacks_something_is_named_with_its_remedy() -> None:
    refused = Obstacle(
        "namespaces: unshare: Operation not permitted", "sudo sysctl -w user.max_user_namespaces=10000"
    )
    poor = replace(GOOD, host="10.1.0.2", name="beta", obstacles=(refused,))
    full = replace(GOOD, host="10.1.0.3", name="gamma", free_disk=10 * MIB)
    error = refuse(GOOD, poor, full)
    assert "worker 10.1.0.2 (beta): namespaces: unshare: Operation not permitted" in error.what
    assert "worker 10.1.0.3 (gamma): 10 MiB are free in /tmp, 200 needed" in error.what
    assert "alpha" not in error.what
    assert "on 10.1.0.2 (beta): sudo sysctl -w user.max_user_namespaces=10000" in error.remedy


def test_memory_must_do_for_all_points_that_run_there_at_once() -> None:
    crowded = replace(GOOD, slots=8, cores=16)
    assert check_workers([crowded], 2, RUN_BYTES) == ()
    error = refuse(crowded, jobs=8)
    assert "8,000 MiB of memory are free, and 8 at once take about 8,000 MiB" in error.what


def test_points_that_share_cores_are_said_to_spoil_timing() -> None:
    [warning] = check_workers([replace(GOOD, slots=3)], 3, RUN_BYTES)
    assert "10.1.0.1 (alpha) runs 3 points at once on 4 cores" in warning
    assert "spoiled" in warning


def test_a_worker_whose_runs_are_less_exact_is_named() -> None:
    lack = Obstacle("devices: veth and packet sockets are used", "sudo chmod 666 /dev/net/tun")
    [warning] = check_workers([GOOD, replace(GOOD, host="10.1.0.2", limitations=(lack,))], 2, RUN_BYTES)
    assert warning == (
        "worker 10.1.0.2 (alpha): devices: veth and packet sockets are used (sudo chmod 666 /dev/net/tun)"
    )


def test_what_a_machine_lacks_is_told_and_what_limits_it_is_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [
        Check("namespaces", "missing", "unshare: refused", "sysctl"), Check("devices", "limited", "veth", "chmod"),
        Check("cpu limits", "limited", "none", "cgroups"), Check("memory", "ok", "much"),
    ]  # fmt: skip
    monkeypatch.setattr("stream2gym.sweep_cluster.worker_check.machine_checks", lambda: checks)
    report = check_machine(replace(NEEDS, digest=digest_package(), named=("/nowhere",)), tmp_path / "e.yaml")
    assert report.obstacles[0] == Obstacle("namespaces: unshare: refused", "sysctl")
    assert report.limitations == (Obstacle("devices: veth", "chmod"),)


def test_another_version_and_another_checkout_are_refused() -> None:
    assert check_version(NEEDS, "abc") == []
    [other] = check_version(replace(NEEDS, version="0.0.9"), "abc")
    assert "the command has 0.0.9" in other.what
    [changed] = check_version(NEEDS, "def")
    assert "not the same code" in changed.what


def test_a_report_and_the_needs_survive_json() -> None:
    assert WorkerReport.from_json(GOOD.to_json()) == GOOD
    assert WorkerNeeds.from_json(NEEDS.to_json()) == NEEDS


def test_a_file_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream2gym.sweep_cluster.worker_check.machine_checks", list)
    needs = replace(NEEDS, digest=digest_package(), named=("/nowhere/rides.csv",))
    [lack] = check_machine(needs, tmp_path / "experiment.yaml").obstacles
    assert "the experiment names /nowhere/rides.csv, which is not there" in lack.what


def test_an_experiment_that_is_not_sound_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream2gym.sweep_cluster.worker_check.machine_checks", list)
    needs = replace(NEEDS, digest=digest_package())
    [lack] = check_machine(needs, tmp_path / "experiment.yaml").obstacles
    assert "the experiment is not sound there" in lack.what


def test_a_process_on_a_worker_gets_few_variables_and_none_of_sparks() -> None:
    spark = {
        "PATH": "/bin", "HOME": "/home/a", "LANG": "C.UTF-8", "S2G_CACHE": "/cache", "https_proxy": "http://p",
        "TMPDIR": "/var/tmp", "SPARK_HOME": "/spark", "PYSPARK_PYTHON": "python", "JAVA_HOME": "/java",
        "PYTHONPATH": "/spark/python", "PYTHONHASHSEED": "0", "AWS_SECRET_ACCESS_KEY": "x",
    }  # fmt: skip
    kept = {"PATH", "HOME", "LANG", "S2G_CACHE", "https_proxy", "TMPDIR"}
    assert worker_environment(spark).keys() == kept


def collect(folder: Path, text: str) -> ExperimentFiles:
    path = folder / "experiment.yaml"
    path.write_text(find_experiment("hello").read_text() + text)
    prepared = prepare_experiment(str(path))
    return collect_files(path, prepared, list(find_texts(prepared.experiment.model_dump(mode="python"))))


def test_the_folder_of_an_experiment_is_sent_without_results_and_hidden_files(tmp_path: Path) -> None:
    for name in (
        "lib/helper.py",
        "runs/a/run.json",
        "old/run.json",
        "old/data/x",
        ".git/config",
        "__pycache__/x.pyc",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    files = collect(tmp_path, "")
    unpack([files.content], tmp_path / "there")
    sent = place_below(tmp_path / "there", str(tmp_path))
    found = {str(path.relative_to(sent)) for path in sent.rglob("*") if path.is_file()}
    assert found == {"experiment.yaml", "lib/helper.py"}
    assert place_below(tmp_path / "there", files.experiment).is_file()


def test_a_folder_that_is_too_large_is_refused_with_its_largest_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_files, "MOST_BYTES", 1 * MIB)
    (tmp_path / "rides.csv").write_bytes(b"x" * 2 * MIB)
    with pytest.raises(BadInput, match=r"too much to send.*rides.csv \(2 MiB\)"):
        collect(tmp_path, "")


def test_a_point_never_runs_a_second_time_by_itself() -> None:
    task = PointTask(PointJob("p0001-r1", {}, 1, "/out/p0001-r1"), "/x/experiment.yaml", "/x")
    [row] = run_point_task(task, b"", attempt=1)
    result = load_result(row)
    assert (result.state, result.is_lost, result.error) == ("failed", True, RAN_BEFORE)


def test_an_error_of_spark_is_told_without_its_stack() -> None:
    text = (
        "Job aborted: ExecutorLostFailure (executor 0 exited)\n\tat org.apache.spark.Foo\nDriver stacktrace:\n\tat x"
    )
    assert describe_error(RuntimeError(text)) == "Job aborted: ExecutorLostFailure (executor 0 exited)"
