"""What this version cannot run is named, and only that."""

from __future__ import annotations

import pytest

from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Experiment
from stream2gym.spec.runnable import PARTS


def test_parts_that_are_switched_off_are_named_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "kafka broker", True)
    monkeypatch.setitem(PARTS, "producer", False)
    plan = make_plan(
        Experiment.model_validate(
            {
                "topology": {"hosts": ["h1"]},
                "brokers": [{"on": "h1"}],
                "producers": [{"name": "gen", "on": "h1"}],
                "engines": [{"name": "job", "on": "h1", "type": "unheard-of"}],
                "faults": [{"do": "unheard-of", "on": "h1"}],
            }
        )
    )
    named = [" ".join(text.split()[1:3]) for text in plan.not_runnable]
    assert named == ["producer gen", "engine job", "fault unheard-of-1"]


def test_a_network_alone_can_always_run() -> None:
    plan = make_plan(Experiment.model_validate({"topology": {"hosts": ["h1", "h2"], "links": ["h1 -- h2"]}}))
    assert plan.not_runnable == ()
