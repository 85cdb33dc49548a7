"""The jobs of a run that goes on, over components and a network that are made up: nothing starts for real."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.errors import BadInput
from stream2gym.execution import run_jobs
from stream2gym.execution.job_overview import describe_state, name_place
from stream2gym.execution.run_jobs import RunJobs
from stream2gym.plan.make_plan import make_plan
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Experiment

HOSTS = ["h1", "h2", "h3"]
EXPERIMENT = Experiment.model_validate(
    {
        "name": "run",
        "topology": {"hosts": HOSTS, "switches": ["s1"], "links": [f"{host} -- s1" for host in HOSTS]},
        "brokers": [{"name": "broker", "on": "h1"}],
        "topics": ["t"],
        "consumers": [{"name": "see", "on": "h2", "topics": ["t"]}],
        "placement": {"constraints": [{"exlocate": ["see*"]}]},
    }
)


class Process:
    """A process that starts and ends at once."""

    def __init__(self) -> None:
        self.state, self.starts, self.handle, self.is_retired, self.host = "running", 1, None, False, ""

    @property
    def running(self) -> bool:
        return self.state == "running"

    def retire(self) -> None:
        self.is_retired = True

    def restart(self) -> None:
        self.state, self.starts = "running", self.starts + 1

    def wait_for_restart(self) -> None:
        assert self.running


class Part:
    """A component in one such process."""

    def __init__(self, name: str, kind: str, host: str, fixed: str = "") -> None:
        self.name, self.kind, self.host, self.fixed = name, kind, host, fixed
        self.processes = [Process()]

    def ready(self) -> bool:
        return self.processes[0].running

    @property
    def over(self) -> bool:
        return not self.processes[0].running

    @property
    def is_retired(self) -> bool:
        return self.processes[0].is_retired

    def start(self) -> None:
        self.processes[0].state = "running"

    def stop(self) -> None:
        self.processes[0].state = "stopped"

    def move_to(self, host: str) -> None:
        assert self.over, "it is moved after its end"
        self.host = host

    def why_not_movable(self) -> str:
        return self.fixed


class Components:
    """The registry of these components."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.observer = None
        self.brokers = [Part("broker", "broker", "h1")]
        self.consumers: list[Any] = [Part("see", "consumer", "h2")]
        self.producers: list[Any] = []
        self.programs: list[Any] = []
        self.engines: list[Any] = []

    def all(self) -> list[Any]:
        return [*self.brokers, *self.engines, *self.consumers, *self.programs, *self.producers]

    def topic_readers(self) -> list[Any]:
        return []

    observed_programs = topic_readers


class Scene:
    """A run with its jobs, and what they told and named."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.names: dict[str, str] = {}
        network = SimpleNamespace(name_components=self.names.update, listening=lambda _processes: {})
        self.folder = RunFolder.create("run", seed=1, out=folder / "run")
        plan = make_plan(EXPERIMENT, seed=1)
        self.context = SimpleNamespace(
            experiment=EXPERIMENT, plan=plan, base=folder, network=network, folder=self.folder, root=folder / "root",
            address_of=lambda host: f"10.0.0.{host[1:]}",
        )  # fmt: skip
        self.components = Components(self.context)
        recorder = SimpleNamespace(tell=lambda kind, **details: self.told.append((kind, details)))
        load: Any = SimpleNamespace(components=self.components, t0_ns=0, lag_tracker=None)
        run: Any = SimpleNamespace(recorder=recorder)
        monitors: Any = SimpleNamespace()
        patch.setattr(
            run_jobs, "ConsumerComponent", lambda context, part: Part(str(part.name), "consumer", str(part.on))
        )
        self.jobs = RunJobs(run, load, monitors)

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [details for told, details in self.told if told == kind]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


def test_what_joins_is_in_experiment_and_plan_of_the_run_and_its_name_resolves_at_once(
    scene: Scene, tmp_path: Path
) -> None:
    assert scene.jobs.submit({"consumers": [{"name": "see-more", "topics": ["t"]}]}, tmp_path) == ["see-more"]
    [told] = scene.events("job-submitted")
    host = told["host"]
    assert host in ("h1", "h3"), "not beside see"
    assert scene.names["see-more"] == host
    assert [str(part.name) for part in scene.context.experiment.consumers] == ["see", "see-more"]
    assert scene.context.plan.components[-1].host == host
    assert "see-more" in (scene.folder.path / "experiment.yaml").read_text()
    assert "see-more" in (scene.folder.path / "plan.json").read_text()
    jobs = {job["name"]: job for job in scene.jobs.overview()}
    assert jobs["see-more"]["submitted"]
    assert jobs["see-more"]["state"] == "ready"
    assert jobs["see"]["address"] == "10.0.0.2"


def test_the_first_program_of_a_run_gets_a_folder_to_start_in(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("")
    scene.jobs._make_working_directory()
    assert (scene.context.root / "app.py").is_symlink()
    assert (scene.folder.work / "logs" / "output" / "cons").is_dir()
    root = scene.context.root
    scene.jobs._make_working_directory()
    assert scene.context.root == root
    assert len(scene.events("warning")) == 1


def test_a_moved_job_starts_where_the_constraints_allow_and_its_name_follows(scene: Scene, tmp_path: Path) -> None:
    scene.jobs.submit({"consumers": [{"name": "see-more", "on": "h3", "topics": ["t"]}]}, tmp_path)
    with pytest.raises(BadInput, match="exlocate"):
        scene.jobs.move("see", "h3")
    assert scene.jobs.move("see", "h1") == {"name": "see", "host": "h1", "from": "h2"}
    assert scene.names["see"] == "h1"
    assert scene.components.consumers[0].processes[0].starts == 2
    assert scene.jobs.held == frozenset()
    # Its plan keeps the host that it began on: groups without a name are called after it.
    assert next(part.host for part in scene.context.plan.components if part.name == "see") == "h2"


def test_a_stopped_job_is_gone_for_good_and_leaves_its_host(scene: Scene, tmp_path: Path) -> None:
    scene.jobs.stop("see")
    assert scene.components.consumers[0].is_retired
    assert describe_state(scene.components.consumers[0]) == "stopped by hand"
    with pytest.raises(BadInput, match="stopped by hand"):
        scene.jobs.move("see", "h1")
    scene.jobs.submit({"consumers": [{"name": "see-more", "on": "h2", "topics": ["t"]}]}, tmp_path)
    assert scene.names["see-more"] == "h2"


@pytest.mark.parametrize(
    ("name", "host", "words"),
    [
        ("sea", "h1", "did you mean 'see'"),
        ("see", "h9", "there is no host 'h9'"),
        ("see", "h2", "is on h2 already"),
        ("broker", "h2", "part of the set-up"),
    ],
)
def test_what_cannot_be_moved_is_told(scene: Scene, name: str, host: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        scene.jobs.move(name, host)
    assert not scene.events("job-moved")


def test_a_component_may_have_a_reason_to_stay(scene: Scene) -> None:
    scene.components.consumers[0].fixed = "its checkpoints are in the memory of h2"
    with pytest.raises(BadInput, match="in the memory of h2"):
        scene.jobs.move("see", "h1")


def test_after_the_load_nothing_changes_any_more(scene: Scene, tmp_path: Path) -> None:
    scene.jobs.end_load()
    with pytest.raises(BadInput, match="its load is over"):
        scene.jobs.stop("see")
    with pytest.raises(BadInput, match="its load is over"):
        scene.jobs.submit({"consumers": [{"name": "x", "topics": ["t"]}]}, tmp_path)
    assert scene.jobs.overview()


def test_a_wildcard_address_is_that_of_the_host() -> None:
    assert name_place("0.0.0.0:9092", "10.0.0.1") == "10.0.0.1:9092"
    assert name_place("[::]:4040", "10.0.0.1") == "10.0.0.1:4040"
    assert name_place("127.0.0.1:80", "10.0.0.1") == "127.0.0.1:80"
