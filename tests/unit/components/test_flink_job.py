"""A Flink job and the processes of a cluster: what the run is told of silence, of moves, and what a wipe removes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.components.engine import EngineSetting
from stream2gym.components.flink import SILENT_S, FlinkJob
from stream2gym.components.flink_cluster import FlinkJobManager, FlinkTaskManager
from stream2gym.components.flink_program import FlinkProgram
from stream2gym.errors import StartFailed
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.java import JavaRuntime
from stream2gym.spec.model import Engine, Experiment
from tests.unit.components.test_flink_state import report

SOFTWARE = FlinkSoftware(JavaRuntime("/java", "/java/bin/java", "25.0.1"), (Path("/a.jar"),))
ENGINES: list[dict[str, Any]] = [
    {"name": "job", "on": "h1", "type": "flink", "app": "job.sql"},
    {"name": "manager", "on": "h1", "type": "flink-jobmanager", "app": "job.sql"},
    {"name": "worker", "on": "h2", "type": "flink-taskmanager", "jobmanager": "manager"},
]


class FakeRun:
    """The context of a run that starts nothing and notes what it was to start."""

    def __init__(self, folder: Path) -> None:
        (folder / "job.sql").write_text("SET 'a' = '${S2G_HOST}';")
        self.folder = SimpleNamespace(
            path=folder, work=folder / "work", log_path=lambda host, name: folder / f"{host}.{name}.log"
        )
        self.base = folder
        self.root = folder
        self.nodes = ()
        self.experiment = Experiment.model_validate({"topology": {"hosts": ["h1", "h2"]}, "engines": ENGINES})
        self.plan = SimpleNamespace(network=SimpleNamespace(observer=SimpleNamespace(name="observer")), seed=1)
        self.spawned: list[tuple[str, list[str]]] = []
        self.signalled: list[list[str]] = []
        self.told: list[str] = []

    def tell(self, kind: str, **_details: Any) -> None:
        self.told.append(kind)

    def sample(self, *_values: Any, **_more: Any) -> None:
        pass

    def host_of(self, name: str) -> str:
        return str(next(engine.on for engine in self.experiment.engines if engine.name == name))

    def address_of(self, host: str) -> str:
        return f"10.0.0.{host[1:]}"

    def spawn(self, host: str, argv: list[str], **_more: Any) -> Any:
        self.spawned.append((host, argv))
        return SimpleNamespace(
            pid=1,
            poll=lambda: None,
            wait=lambda _timeout_s: None,
            when_ended=lambda _listener: None,
            signal=lambda *_number: self.signalled.append(argv),
        )

    def setting(self, name: str) -> EngineSetting:
        part: Engine = next(engine for engine in self.experiment.engines if engine.name == name)
        context: Any = self
        program = FlinkProgram(SOFTWARE, self.base / "job.sql")
        return EngineSetting(context, part, part.checked_settings, (), self.base, program, name, self.host_of(name))


@pytest.fixture
def run(tmp_path: Path) -> FakeRun:
    return FakeRun(tmp_path)


def let_tell_until(job: FlinkJob, now_s: list[float]) -> None:
    """The job told something at 0 s, and nothing until now."""
    job.state._clock = lambda: now_s[0]
    job._take(report(1))


def test_a_job_whose_rest_interface_falls_silent_is_not_watched(run: FakeRun) -> None:
    job = FlinkJob(run.setting("job"))
    job.start()
    now_s = [0.0]
    let_tell_until(job, now_s)
    job.look()
    now_s[0] = SILENT_S + 1
    with pytest.raises(StartFailed, match=r"Flink's REST interface has told nothing for 4\.0 s"):
        job.look()
    job._take(report(2))
    job.look()
    job.close()


def test_a_job_that_was_asked_to_end_may_fall_silent(run: FakeRun) -> None:
    job = FlinkJob(run.setting("job"))
    job.start()
    now_s = [0.0]
    let_tell_until(job, now_s)
    now_s[0] = SILENT_S + 1
    job.processes[0].ask_to_stop()
    job.look()
    assert job.state.silent_s() > SILENT_S
    job.close()


def test_a_moved_job_is_watched_where_it_is_and_its_statements_know_its_host(run: FakeRun) -> None:
    job = FlinkJob(run.setting("job"))
    job.start()
    ((_, first),) = [(host, argv) for host, argv in run.spawned if host == "observer"]
    assert "10.0.0.1" in first
    job.move_to("h2")
    assert job.why_not_movable() == ""
    assert run.signalled == [first], "the watch of the old place has ended"
    assert "10.0.0.2" in run.spawned[-1][1]
    assert job.files()["/tmp/work/job/statements"] == b"1 SET 'a' = 'h2'\x00"
    job._take(report(1))
    assert job.state.host == "h2"
    job.close()


def test_the_processes_of_a_cluster_are_not_moved(run: FakeRun) -> None:
    parts = [FlinkJobManager(run.setting("manager")), FlinkTaskManager(run.setting("worker"))]
    assert {part.why_not_movable() for part in parts} == {"others of its cluster know it by its address"}


def test_a_task_manager_that_is_wiped_loses_its_local_files(run: FakeRun) -> None:
    worker = FlinkTaskManager(run.setting("worker"))
    worker.wipe()
    assert run.spawned == [("h2", ["rm", "-rf", "--", "/tmp/work/worker"])]
    assert list(worker.files()) == ["/tmp/work/worker/config.yaml"], "its next start writes them again"


def test_a_job_that_is_wiped_begins_from_nothing_whatever_it_was_to_restore(run: FakeRun) -> None:
    setting = run.setting("job")
    job = FlinkJob(replace(setting, settings=setting.settings.model_copy(update={"restore": "older/chk-1"})))
    assert job.config()["execution.state-recovery.path"].endswith("older/chk-1")
    made = job.checkpoints / "id" / "chk-3"
    made.mkdir(parents=True)
    (made / "_metadata").write_bytes(b"x")
    assert job.config()["execution.state-recovery.path"] == made.as_uri()
    job.wipe()
    assert "execution.state-recovery.path" not in job.config()
