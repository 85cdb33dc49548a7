"""The settings of a fault are validated once, and the plan hands over what came of it."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from stream2gym.kinds.fault_settings import FlapSettings
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment
from stream2gym.units import Share

SAID = {
    "topology": {"kind": "star", "hosts": 2},
    "faults": [{"do": "flap", "on": "h1 -- s1", "at": "1 s", "duty": "20%", "for": "2 s"}],
}


def test_the_plan_holds_the_object_that_the_experiment_validated() -> None:
    experiment = Experiment.model_validate(SAID)
    [fault] = experiment.faults
    checked = fault.checked_settings
    assert isinstance(checked, FlapSettings)
    assert checked.duty == Share(0.2)
    assert make_plan(experiment).faults[0].checked_settings is checked


def test_the_written_plan_holds_the_settings_as_they_were_said() -> None:
    plan = make_plan(Experiment.model_validate(SAID))
    written = json.loads(json.dumps(plan.to_json()))
    assert written["faults"][0]["settings"] == {"duty": "20%"}
    assert "checked_settings" not in written["faults"][0]
    read = Plan.from_json(written)
    assert read == plan
    assert read.faults[0].checked_settings is None


def test_an_experiment_whose_settings_were_validated_equals_one_whose_were_not() -> None:
    one, other = Experiment.model_validate(SAID), Experiment.model_validate(SAID)
    assert one.faults[0].checked_settings
    assert one == other
    assert one.model_dump() == other.model_dump()


def test_settings_that_do_not_fit_are_told_each_time() -> None:
    [fault] = Experiment.model_validate({"faults": [{"do": "cpu", "on": "h1", "at": "1 s", "share": "much"}]}).faults
    for _ in range(2):
        with pytest.raises(ValidationError, match="share"):
            _ = fault.checked_settings
