"""Points of a sweep on a real Spark standalone cluster: a lost executor, Ctrl-C, workers that cannot run points."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.sweep_cluster.cluster_context import open_context
from stream2gym.sweep_cluster.cluster_runner import ROWS_AT_ONCE, fetch_rows, keep_on_worker
from stream2gym.sweep_cluster.folder_stream import PIECE
from stream2gym.wait import wait_until
from tests.support.leaks import left_behind, snapshot
from tests.support.spark_cluster import EXECUTOR, SparkCluster, find_processes, spark_cluster, without_namespaces

LONG_S = 300.0
pytestmark = [pytest.mark.long, pytest.mark.timeout(3 * LONG_S)]
SWEEP = """
sweep: 1
name: on-a-cluster
experiment: hello
set: {time: 2 s}
axes:
  link.latency: {set: topology.links.h2 -- s1.latency, values: [5 ms, 60 ms, 150 ms]}
responses: [latency.mean]
expect:
  - latency.mean over link.latency: increasing
figures: [{figure: latency-time}]
"""
PROCESS = "stream2gym.point_server"
FABRIC = "stream2gym.fabric.userspace.main"


def command(file: Path, url: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "stream2gym", "sweep", str(file), "--master", url, *words]


def run(file: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    argv = command(file, url, *words)
    return subprocess.run(argv, capture_output=True, text=True, timeout=LONG_S, check=False)


def attempts(path: Path) -> list[dict[str, Any]]:
    file = path / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as made:
        made.add_worker()
        yield made


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "sweep.yaml"
    path.write_text(SWEEP, "utf-8")
    return path


@dataclass
class Swept:
    """A sweep that lost the executor of its second point, and was resumed."""

    path: Path
    first: int = 0
    said: str = ""
    lost: dict[str, Any] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    environment: set[str] = field(default_factory=set)
    resumed: subprocess.CompletedProcess[str] | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        return pq.read_table(self.path / "responses.parquet").to_pylist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def swept(cluster: SparkCluster, file: Path, tmp_path_factory: pytest.TempPathFactory) -> Swept:
    found = Swept(tmp_path_factory.mktemp("sweep") / "out")
    log = found.path.parent / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command(file, cluster.url, "--out", str(found.path)), stdout=output, stderr=output)

    def find_second_point() -> list[int]:
        assert process.poll() is None, log.read_text()
        return find_processes(PROCESS) if len(attempts(found.path)) == 1 else []

    [guard, *_] = wait_until(find_second_point, timeout_s=LONG_S, reason="the second point")
    variables = Path("/proc", str(guard), "environ").read_bytes().decode().split("\0")
    found.environment = {variable.partition("=")[0] for variable in variables}
    wait_until(lambda: find_processes(FABRIC), timeout_s=LONG_S, reason="a network on the worker")
    gym = {*find_processes(PROCESS), *find_processes(FABRIC)}
    [executor] = find_processes(EXECUTOR)
    os.kill(executor, signal.SIGKILL)
    wait_until(lambda: not gym & {*find_processes(PROCESS), *find_processes(FABRIC)}, timeout_s=20, reason="its end")
    found.first = process.wait(LONG_S)
    found.said = log.read_text()
    found.ended = [one["run"] for one in attempts(found.path)]
    [found.lost] = [one for one in attempts(found.path) if one["result"]["state"] == "failed"]
    found.resumed = run(file, cluster.url, "--resume", str(found.path))
    return found


def test_every_worker_is_named_before_the_first_point(swept: Swept) -> None:
    assert "1 at once on the workers 127.0.0.1" in swept.said


def test_a_process_on_a_worker_has_nothing_of_sparks_environment(swept: Swept) -> None:
    assert "PATH" in swept.environment
    assert not [name for name in swept.environment if name.startswith(("SPARK", "PYSPARK", "JAVA", "PYTHON"))]


def test_a_lost_executor_is_a_failed_point_and_the_others_go_on(swept: Swept) -> None:
    assert swept.first == 3, swept.said
    assert len(swept.ended) == 3
    assert swept.lost["result"]["is_lost"]
    assert "the task that ran this point was lost" in swept.lost["result"]["error"]


def test_a_resumed_sweep_runs_the_lost_point_again_and_no_other(swept: Swept) -> None:
    assert swept.resumed is not None
    said = swept.resumed.stdout + swept.resumed.stderr
    # Unknown where the machine could not keep up; a failure would be wrong.
    assert swept.resumed.returncode in (0, 3), said
    # First the result that counted until then is withdrawn.
    again = [(one["run"], one["result"]["state"]) for one in attempts(swept.path)][3:]
    assert again == [(swept.lost["run"], "interrupted"), (swept.lost["run"], "done")]
    assert json.loads((swept.path / "verdict.json").read_text())["counts"] == {"pass": 3}, said


def test_the_run_folders_came_back_whole(swept: Swept) -> None:
    assert len(swept.rows) == 3
    for row in swept.rows:
        folder = RunFolder.open(swept.path / row["run"])
        assert folder.state == "done"
        assert pq.read_table(folder.data / "sent.parquet").num_rows > 0
        assert (folder.path / "report.html").is_file()
        assert row["link.latency"] in (folder.path / "experiment.yaml").read_text()
        # A message crosses the link twice.
        assert row["value"] > 2 * row["link.latency (s)"]
    assert not list((swept.path / "points").glob(".*"))


def test_figures_of_runs_are_drawn_of_run_folders_that_came_back(swept: Swept) -> None:
    drawn = sorted(path.name for path in (swept.path / "figures").glob("latency-time-*.svg"))
    assert drawn == [f"latency-time-link-latency-{number}-ms.svg" for number in (150, 5, 60)]


def test_rows_of_a_task_are_fetched_a_few_at_a_time_and_computed_once(cluster: SparkCluster, tmp_path: Path) -> None:
    marks = str(tmp_path / "marks")
    count = 2 * ROWS_AT_ONCE + 3

    def compute(_rows: Iterator[int]) -> Iterator[bytes]:
        with open(marks, "a", encoding="ascii") as file:
            file.write("once ")
        yield b"result"
        yield from (bytes([number]) * PIECE for number in range(count))

    with ThreadPoolExecutor(1) as opener, contextlib.ExitStack() as undo:
        context = opener.submit(undo.enter_context, open_context(cluster.url, "rows")).result()
        rows = context.parallelize([0], 1).mapPartitions(compute)
        keep_on_worker(rows)
        got = [(len(row), row[:1]) for row in fetch_rows(rows)]
    assert got == [(6, b"r"), *((PIECE, bytes([number])) for number in range(count))]
    assert Path(marks).read_text() == "once "


def test_ctrl_c_ends_the_point_on_its_worker_and_leaves_nothing(
    cluster: SparkCluster, file: Path, tmp_path: Path
) -> None:
    before = snapshot()
    argv = command(file, cluster.url, "--out", str(tmp_path / "out"))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, process_group=0)

    def is_running() -> bool:
        assert process.poll() is None, (tmp_path / "log").read_text()
        return bool(find_processes(FABRIC))

    wait_until(is_running, timeout_s=LONG_S, reason="a network on the worker")
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130, (tmp_path / "log").read_text()
    assert left_behind(before) == {}
    assert attempts(tmp_path / "out") == []
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["state"] == "interrupted"


def test_a_worker_without_our_package_is_refused_by_name(
    cluster: SparkCluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "python"
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    subprocess.run([base, "-m", "venv", "--without-pip", str(empty)], check=True, timeout=LONG_S)
    monkeypatch.setenv("PYSPARK_PYTHON", str(empty / "bin" / "python"))
    done = run(file, cluster.url, "--out", str(tmp_path / "out"))
    assert done.returncode == 4, done.stderr
    assert "worker 127.0.0.1" in done.stderr
    assert "has no stream2gym" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_python_that_no_worker_has_is_told(
    cluster: SparkCluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "nowhere"))
    done = run(file, cluster.url, "--out", str(tmp_path / "out"))
    assert done.returncode == 4, done.stderr
    assert "a worker cannot start our Python" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_without_permission_for_namespaces_is_refused_by_name(file: Path, tmp_path: Path) -> None:
    with spark_cluster(tmp_path) as poor:
        poor.add_worker(prefix=without_namespaces())
        before = snapshot()
        done = run(file, poor.url, "--out", str(tmp_path / "out"))
        assert done.returncode == 4, done.stderr
        assert "worker 127.0.0.1" in done.stderr
        assert "namespaces: " in done.stderr
        assert "user.max_net_namespaces" in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "out").exists()
        assert left_behind(before) == {}
