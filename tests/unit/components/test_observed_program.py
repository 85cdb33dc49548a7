"""How a program of the user is started so that the recorder comes into its interpreter."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from stream2gym.components.program_command import can_be_observed, recorder_environment
from stream2gym.instrument.settings import RECORDER_PATH, VARIABLE, Settings
from stream2gym.spec.model import Consumer, Producer

SETTINGS = Settings(raw="/run/raw", name="own", instance=2, host="h1", label="own#2")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"app": "own.py"}, True),
        ({"app": "own", "python": "python3.9"}, True),
        ({"app": "own.sh"}, False),
        ({"app": "own.py", "observe": False}, False),
        ({}, False),
    ],
)
def test_python_programs_are_observed_unless_the_experiment_forbids_it(keys: dict[str, Any], expected: bool) -> None:
    for kind in (Producer, Consumer):
        assert can_be_observed(kind.model_validate({"name": "own", **keys})) is expected


def test_the_recorder_stands_first_on_the_path_and_nothing_else_is_lost() -> None:
    assert (RECORDER_PATH / "sitecustomize.py").is_file()
    plain = recorder_environment(SETTINGS, {"A": "1"}, {})
    assert plain == {"A": "1", "PYTHONPATH": str(RECORDER_PATH), VARIABLE: SETTINGS.to_text()}
    assert json.loads(plain[VARIABLE])["label"] == "own#2"
    for environment, inherited in (
        ({"PYTHONPATH": "/mine"}, {"PYTHONPATH": "/yours"}),
        ({}, {"PYTHONPATH": "/mine"}),
    ):
        found = recorder_environment(SETTINGS, environment, inherited)
        assert found["PYTHONPATH"] == f"{RECORDER_PATH}{os.pathsep}/mine"
