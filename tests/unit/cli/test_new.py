"""``s2g new``: a folder that is valid at once, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.cli.main import main
from stream2gym.spec.loading import load_experiment


def new(folder: Path | str) -> int:
    return main(["new", str(folder)])


def test_a_project_is_a_sound_experiment_of_its_own_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "deep" / "my-shop"
    assert new(folder) == 0
    assert f"run it with: s2g run {folder}/" in capsys.readouterr().out
    loaded = load_experiment(folder / "experiment.yaml")
    assert loaded.experiment.name == "my-shop"
    assert loaded.warnings == []
    names = {"README.md", "check.py", "consumer.py", "experiment.yaml", "job.py", "producer.py"}
    assert {path.name for path in folder.iterdir()} == names
    readme = (folder / "README.md").read_text()
    assert readme.startswith("# my-shop\n")
    assert "s2g run my-shop/" in readme
    assert "own-pipeline" not in readme


def test_an_empty_folder_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    assert new(".") == 0
    assert (tmp_path / "shop" / "experiment.yaml").is_file()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert new(tmp_path) == 2
    said = capsys.readouterr().err
    assert "is there already and not empty" in said
    assert len(said.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["a b", "né", "-x", "_x", "x;y", "a\nb", "x" * 64, "$HOME"])
def test_a_name_that_no_experiment_may_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["new", f"{tmp_path}/{name}"]) == 2
    assert "is no name of an experiment" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert new(tmp_path / "file") == 2
    assert new(tmp_path / "file" / "project") == 2
    assert capsys.readouterr().err.count("cannot be made") == 2


def test_help_says_what_it_makes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["new", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "a PySpark job" in said
    assert "PROJECT" in said
