"""How the recorder comes into a program's interpreter, and what happens where it cannot."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stream2gym.instrument
from stream2gym.instrument.import_hook import LoadHook
from stream2gym.instrument.recorder import Recorder
from stream2gym.instrument.settings import Settings
from stream2gym.instrument.versions import is_known
from stream2gym.record.journal import RECEIVED, Identity, Journal
from tests.support.recorded import ON_PATH, Record, recorder_environment, run_program

HOUSE = Path(stream2gym.instrument.__file__).parents[1]


def test_a_program_starts_with_the_recorder_and_does_not_see_it(tmp_path: Path) -> None:
    text = """
import sys
print(any("onpath" in entry for entry in sys.path), "stream2gym" in sys.modules, "confluent_kafka" in sys.modules)
"""
    found = run_program(tmp_path, text)
    assert found.stdout == "False False False\n"
    assert [note["event"] for note in found.notes()] == ["loaded"]
    assert found.stderr == ""


def test_a_sitecustomize_that_was_there_before_runs_as_well(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("MINE = 1\nprint('customised')\n")
    raw = tmp_path / "raw"
    raw.mkdir()
    environment = recorder_environment(raw) | {"PYTHONPATH": f"{ON_PATH}{os.pathsep}{other}"}
    said = subprocess.run(
        [sys.executable, "-c", "import sitecustomize; print(sitecustomize.MINE)"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == "customised\n1\n"
    assert Record(raw).notes("loaded")


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_an_interpreter_that_ignores_its_environment_is_not_recorded(tmp_path: Path, flag: str) -> None:
    assert run_program(tmp_path, "print(1)", flags=(flag,)).notes() == []


def test_a_python_program_that_the_program_starts_is_recorded_too(tmp_path: Path) -> None:
    text = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'], check=True)\n"
    assert len(run_program(tmp_path, text).notes("loaded")) == 2


def test_without_settings_nothing_is_recorded_and_nothing_said(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "S2G_RECORDER"}
    said = subprocess.run(
        [sys.executable, "-c", "print(1)"],
        env=environment | {"PYTHONPATH": str(ON_PATH)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (said.stdout, said.stderr) == ("1\n", "")


def test_a_library_version_that_is_not_known_runs_unrecorded_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder(Settings(raw=str(tmp_path), name="app"))
    assert is_known(recorder, "kafka-python", "3.0.12")
    assert not is_known(recorder, "kafka-python", "9.1")
    assert not is_known(recorder, "kafka-python", "1.4.7")
    assert "not recorded: kafka-python 9.1: this version is not known" in capsys.readouterr().err
    assert [note["what"] for note in Record(tmp_path).notes("unrecorded")] == [
        "kafka-python 9.1",
        "kafka-python 1.4.7",
    ]


def write_library(folder: Path, names: str, text: str) -> None:
    """A confluent-kafka of another version, which has these names."""
    package = folder / "confluent_kafka"
    package.mkdir()
    (package / "__init__.py").write_text(f"from .cimpl import {names}\n")
    (package / "cimpl.py").write_text(text)


def test_a_program_with_such_a_library_works(tmp_path: Path) -> None:
    write_library(tmp_path, "Producer, version", "def version(): return '7.0.0'\nclass Producer: pass\n")
    found = run_program(tmp_path, "import confluent_kafka\nprint(confluent_kafka.Producer.__mro__[1:])\n")
    assert found.stdout == "(<class 'object'>,)\n"
    assert found.notes("unrecorded")[0]["what"] == "confluent-kafka 7.0.0"


def test_a_library_that_looks_different_from_what_we_know_works(tmp_path: Path) -> None:
    write_library(tmp_path, "version", "def version(): return '2.99.0'\n")
    found = run_program(tmp_path, "import confluent_kafka\nprint(confluent_kafka.version())\n")
    assert found.stdout == "2.99.0\n"
    assert "AttributeError" in found.notes("unrecorded")[0]["why"]


def test_a_full_disk_ends_the_record_and_not_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    recorder = Recorder(Settings(raw=str(tmp_path), name="app"))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(Exception, match="no room left") as caught:
        recorder.sends()
    recorder.give_up(caught.value)
    assert recorder.sends() is None
    assert recorder.receipts("g") is None
    assert Record(tmp_path).notes("unrecorded")[0]["remedy"] == "free the disk"


def test_two_makers_of_a_journal_never_get_the_same_one(tmp_path: Path) -> None:
    path, who = tmp_path / "received.a.1.1.journal", Identity("a")
    Journal(path, RECEIVED, who, exclusive=True).close()
    with pytest.raises(FileExistsError):
        Journal(path, RECEIVED, who, exclusive=True)


def test_settings_come_back_as_they_were_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from stream2gym.instrument.settings import read_settings

    settings = Settings(
        raw="/r", name="a", instance=2, label="a#2", header=False, group="g", hash_by={"t": "json:$.x"}
    )
    monkeypatch.setenv("S2G_RECORDER", settings.to_text())
    assert read_settings() == settings
    assert json.loads(settings.to_text())["instance"] == 2


def test_a_module_that_the_hook_does_not_name_is_left_to_others() -> None:
    assert LoadHook({"a.b": lambda _module: None}).find_spec("a.c") is None


def _modules_of_the_recorder() -> list[Path]:
    files = sorted((HOUSE / "instrument").rglob("*.py"))
    return [
        *files,
        *(HOUSE / "record" / f"{name}.py" for name in ("journal", "journal_writers", "messages")),
        HOUSE / "errors.py",
    ]


@pytest.mark.parametrize("path", _modules_of_the_recorder(), ids=lambda path: path.name)
def test_the_recorder_is_written_for_python_3_9_and_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    libraries = {"kafka", "aiokafka", "sitecustomize"}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        for name in names:
            top = name.partition(".")[0]
            assert top in sys.stdlib_module_names or top in libraries, f"{path.name} imports {name}"
        assert not isinstance(node, ast.Match), path.name
