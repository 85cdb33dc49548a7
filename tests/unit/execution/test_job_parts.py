"""What joins a run is checked together with the experiment of the run, and its paths count from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.errors import BadInput
from stream2gym.execution.job_parts import find_hidden_files, join_parts, move_paths
from stream2gym.spec.model import Experiment

RUN = {
    "name": "run",
    "topology": {"hosts": ["h1", "h2"], "switches": ["s1"], "links": ["h1 -- s1", "h2 -- s1"]},
    "brokers": [{"on": "h1"}],
    "topics": ["t"],
    "producers": [{"name": "gen", "on": "h2", "topic": "t"}],
    "consumers": [{"name": "see", "on": "h2", "topics": ["t"]}],
}


def join(folder: Path, base: Path | None = None, **said: list[dict[str, Any]]) -> Any:
    return join_parts(Experiment.model_validate(RUN), said, base=base or folder, folder=folder)


def test_parts_join_the_experiment_behind_its_own(tmp_path: Path) -> None:
    joined = join(tmp_path, consumers=[{"name": "more", "topics": ["t"]}], producers=[{"name": "add", "topic": "t"}])
    assert [str(part.name) for part in joined.parts] == ["more", "add"]
    assert [str(part.name) for part in joined.experiment.consumers] == ["see", "more"]
    assert joined.experiment.topics[0].name == "t"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"consumers": [{"name": "x", "topics": ["nope"]}]}, "nope"),
        ({"consumers": [{"name": "x", "on": "h9", "topics": ["t"]}]}, "h9"),
        ({"consumers": [{"name": "gen", "topics": ["t"]}]}, "is in the run already"),
        ({"consumers": [{"name": "x", "topics": ["t"], "nosuch": 1}]}, "nosuch"),
        ({"brokers": [{"on": "h2"}]}, "cannot join a run"),
        ({"consumers": []}, "cannot join a run"),
        ({"engines": [{"name": "x", "app": "missing.py"}]}, "missing.py"),
    ],
)
def test_what_is_wrong_in_a_part_is_told(tmp_path: Path, said: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        join(tmp_path, **said)


def test_packets_are_not_captured_from_the_middle_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("")
    with pytest.raises(BadInput, match="from the start of a run only"):
        join(tmp_path, consumers=[{"name": "x", "topics": ["t"], "app": "app.py", "observe": "wire"}])


def test_a_mistake_that_the_run_had_before_is_not_told_again(tmp_path: Path) -> None:
    gone = RUN | {"consumers": [{"name": "see", "on": "h2", "topics": ["t"], "app": "gone.py"}]}
    joined = join_parts(
        Experiment.model_validate(gone),
        {"consumers": [{"name": "x", "topics": ["t"]}]},
        base=tmp_path,
        folder=tmp_path,
    )
    assert [str(part.name) for part in joined.parts] == ["x"]


def test_paths_of_another_folder_are_written_from_the_folder_of_the_run(tmp_path: Path) -> None:
    here, base = tmp_path / "jobs", tmp_path / "run"
    part = {"app": "a/count.py", "python": "venv/bin/python", "arrivals": {"file": "times"}, "file": "/data/x"}
    assert move_paths(part, here, base) == {
        "app": "../jobs/a/count.py",
        "python": "../jobs/venv/bin/python",
        "arrivals": {"file": "../jobs/times"},
        "file": "/data/x",
    }
    assert move_paths(part, base, base) == part
    here.mkdir()
    base.mkdir()
    (here / "count.py").write_text("")
    joined = join(here, base, consumers=[{"name": "x", "topics": ["t"], "app": "count.py"}])
    assert joined.parts[0].app == "../jobs/count.py"


def test_a_program_that_hosts_do_not_see_is_told() -> None:
    base = Path("/tmp/here")
    part = Experiment.model_validate(
        RUN | {"consumers": [{"name": "x", "topics": ["t"], "app": "../there/count.py"}]}
    ).consumers[0]
    [mistake] = find_hidden_files([part], base, [base])
    assert "/tmp/there/count.py" in mistake.what
    assert find_hidden_files([part], base, [base, Path("/tmp/there")]) == []
    assert find_hidden_files([part], Path("/home/me/here"), [base]) == []
