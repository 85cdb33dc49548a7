"""Why something died: the error at the end of a log, and what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.components.death_cause import death, with_remedy
from stream2gym.components.program_command import missing_modules_of
from stream2gym.software import python_extras
from stream2gym.spec.model import Experiment


def test_a_death_names_the_last_error_and_the_log(tmp_path: Path) -> None:
    log = tmp_path / "h1.gen.log"
    log.write_text("begins\nTraceback (most recent call last):\n  File x\nValueError: no such ship\n")
    told = death(log)
    assert told["cause"] == "ValueError: no such ship"
    assert told["log"] == "h1.gen.log"
    assert told["end_of_log"].startswith("begins")


def test_what_is_known_of_the_cause_goes_before_the_log(tmp_path: Path) -> None:
    assert death(tmp_path / "none.log", "the port is taken")["cause"] == "the port is taken"
    assert death(tmp_path / "none.log")["cause"] == "its log names no error"


def test_a_warning_at_the_end_of_a_log_is_no_cause(tmp_path: Path) -> None:
    log = tmp_path / "h1.job.log"
    log.write_text("26/11/16 05:55:03 WARN Something: is turned off\n")
    assert death(log)["cause"] == "its log names no error"
    log.write_text("cannot open the door\n")
    assert death(log)["cause"] == "cannot open the door"


@pytest.mark.parametrize("module", ["textblob", "kafka.errors", "numpy"])
def test_a_module_that_is_missing_is_told_with_the_extra_that_brings_it(module: str) -> None:
    told = with_remedy(f"ModuleNotFoundError: No module named '{module}'")
    assert "pip install 'stream2gym[published]'" in told


def test_other_modules_are_told_as_they_are() -> None:
    assert with_remedy("ModuleNotFoundError: No module named 'mine'").endswith("'mine'")


def test_missing_modules_of_all_programs_are_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream2gym.software.python_extras.importlib.util.find_spec", lambda _name: None)
    (tmp_path / "gen.py").write_text("import os, kafka\n")
    (tmp_path / "job.py").write_text(
        "from textblob import TextBlob\nfrom kafka.admin import X\ntry:\n    import numpy\nexcept ImportError: pass\n"
    )
    (tmp_path / "other.py").write_text("import textblob\n")
    experiment = Experiment.model_validate(
        {
            "topology": {"hosts": ["h1"]},
            "producers": [{"on": "h1", "name": "gen", "type": "CUSTOM", "app": "gen.py"}],
            "consumers": [{"on": "h1", "name": "see", "type": "CUSTOM", "app": "other.py", "python": "python3"}],
            "engines": [{"on": "h1", "name": "job", "app": "job.py"}],
        }
    )
    [told] = missing_modules_of(experiment, tmp_path)
    assert "producer gen (gen.py)" in told.what
    assert "engine job (job.py) imports textblob" in told.what
    assert "numpy" not in told.what
    assert "see" not in told.what
    assert told.remedy == "pip install 'stream2gym[published]'"


def test_a_module_of_the_programs_own_folder_is_no_module_of_an_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream2gym.software.python_extras.importlib.util.find_spec", lambda _name: None)
    (tmp_path / "kafka.py").touch()
    program = tmp_path / "gen.py"
    program.write_text("import kafka\n")
    assert python_extras.missing_modules(program) == []
