"""Placement while a run goes on: what runs stays, constraints hold for all together, what was stopped is gone."""

from __future__ import annotations

import pytest

from stream2gym.errors import BadInput
from stream2gym.plan.placement_in_run import place_in_run
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment


def experiment(*names: str, **constraint: list[str]) -> Experiment:
    hosts = ["h1", "h2", "h3"]
    return Experiment.model_validate(
        {
            "name": "run",
            "topology": {"hosts": hosts, "switches": ["s1"], "links": [f"{host} -- s1" for host in hosts]},
            "brokers": [{"name": "broker", "on": "h1"}],
            "topics": ["t"],
            "consumers": [{"name": name, "topics": ["t"]} for name in names],
            "placement": {"constraints": [constraint] if constraint else []},
        }
    )


def host_of(plan: Plan, name: str) -> str:
    return next(part.host for part in plan.components if part.name == name)


def test_what_runs_stays_where_it_is() -> None:
    where = {"broker": "h1", "a": "h3"}
    plan = place_in_run(experiment("a", "b"), where, (), seed=1)
    assert host_of(plan, "a") == "h3"


def test_a_new_one_keeps_to_the_constraints() -> None:
    where = {"broker": "h1", "a": "h2"}
    assert host_of(place_in_run(experiment("a", "b", exlocate=["*"]), where, (), seed=1), "b") == "h3"
    assert host_of(place_in_run(experiment("a", "b", colocate=["a", "b"]), where, (), seed=1), "b") == "h2"
    with pytest.raises(BadInput, match="exlocate"):
        place_in_run(experiment("a", "b", exlocate=["a", "b"]), where | {"b": "h2"}, (), seed=1)


def test_what_was_stopped_holds_no_host_and_no_constraint() -> None:
    where = {"broker": "h1", "b": "h2"}
    plan = place_in_run(experiment("a", "b", isolate=["a"]), where, {"a"}, seed=1)
    assert [part.name for part in plan.components] == ["broker", "b"]
    plan = place_in_run(experiment("a", "b", "c", exlocate=["a", "b", "c"]), where | {"c": "h3"}, {"a"}, seed=1)
    assert host_of(plan, "c") == "h3"


@pytest.mark.parametrize("rule", ["colocate", "exlocate", "isolate"])
def test_every_kind_of_constraint_chooses_the_host_of_what_joins_and_refuses_the_wrong_one(rule: str) -> None:
    named = ["a"] if rule == "isolate" else ["a", "b"]
    where = {"broker": "h1", "a": "h2"}
    joined = host_of(place_in_run(experiment("a", "b", **{rule: named}), where, (), seed=1), "b")
    assert (joined == "h2") is (rule == "colocate")
    wrong = "h3" if rule == "colocate" else "h2"
    with pytest.raises(BadInput, match=rule):
        place_in_run(experiment("a", "b", **{rule: named}), where | {"b": wrong}, (), seed=1)
