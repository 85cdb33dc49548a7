"""Groups of faults: one after the other, all at once, in each other; what is wrong in one is told with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.errors import BadInput
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.loading import load_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.experiment import Fault, FaultGroup

NETWORK = {
    "topology": {"hosts": ["h1", "h2"], "switches": ["s1"], "links": ["h1 -- s1", "h2 -- s1"]},
    "brokers": [{"on": "h1"}],
    "topics": ["in"],
    "time": "100 s",
}


def down(seconds: int, **more: Any) -> dict[str, Any]:
    return {"do": "down", "on": "h1 -- s1", "for": f"{seconds} s", **more}


def windows(*faults: Any) -> dict[str, tuple[float, float | None]]:
    plan = make_plan(Experiment.model_validate({**NETWORK, "faults": list(faults)}), seed=1)
    return {fault.name: (window.start_s, window.end_s) for fault in plan.faults for window in fault.windows}


def triggers(*faults: Any) -> dict[str, tuple[str, float]]:
    plan = make_plan(Experiment.model_validate({**NETWORK, "faults": list(faults)}), seed=1)
    return {fault.name: (fault.trigger, fault.delay_s) for fault in plan.faults if fault.trigger}


def test_a_sequence_is_one_after_the_other() -> None:
    assert windows({"name": "storm", "at": "10 s", "sequence": [down(5), down(3, delay="2 s"), down(1)]}) == {
        "storm-1": (10, 15),
        "storm-2": (17, 20),
        "storm-3": (20, 21),
    }


def test_what_is_parallel_starts_together() -> None:
    assert windows({"at": "10 %", "parallel": [down(5), down(3, name="short"), down(1, delay="1 s")]}) == {
        "down-1": (10, 15),
        "short": (10, 13),
        "down-2": (11, 12),
    }


def test_a_sequence_goes_on_when_all_of_a_parallel_group_has_ended() -> None:
    inner = {"parallel": [down(5, name="long"), down(2, name="short")]}

    assert windows({"at": "1 s", "sequence": [down(4, name="first"), inner, down(1, name="last")]}) == {
        "first": (1, 5),
        "long": (5, 10),
        "short": (5, 7),
        "last": (10, 11),
    }


def test_sequences_run_beside_each_other_in_a_parallel_group() -> None:
    one = {"sequence": [down(2, name="a1"), down(2, name="a2")]}
    other = {"sequence": [down(3, name="b1"), {"parallel": [down(1, name="b2"), down(4, name="b3")]}]}

    found = windows({"name": "both", "at": "10 s", "parallel": [one, other]}, down(1, after="both", name="then"))

    assert found == {
        "a1": (10, 12),
        "a2": (12, 14),
        "b1": (10, 13),
        "b2": (13, 14),
        "b3": (13, 17),
        "then": (17, 18),
    }


def test_a_group_that_waits_for_a_condition_waits_as_a_whole() -> None:
    group = {
        "name": "storm",
        "when": "lag > 5000",
        "sequence": [down(5), {"parallel": [down(1), down(2)]}, down(1)],
    }

    assert triggers(group) == {
        "storm-1": ("lag > 5000", 0.0),
        "storm-2": ("fault storm-1", 0.0),
        "storm-3": ("fault storm-1", 0.0),
        "storm-4": ("fault storm-2, storm-3", 0.0),
    }


def test_what_follows_a_restart_waits_for_its_end() -> None:
    rolling = [{"do": "restart", "on": "broker-h1", "orderly": True}, down(1, delay="2 s")]

    assert windows({"name": "roll", "at": "5 s", "sequence": rolling}) == {"roll-1": (5, 5)}
    assert triggers({"name": "roll", "at": "5 s", "sequence": rolling}) == {"roll-2": ("fault roll-1", 2.0)}


def test_python_builds_the_same_groups() -> None:
    cut = Fault(do="down", on=["h1 -- s1"], for_="5 s")
    group = FaultGroup(name="storm", at="10 s", sequence=[cut, cut])

    assert windows(group) == {"storm-1": (10, 15), "storm-2": (15, 20)}


def test_what_is_written_down_is_read_back_the_same(tmp_path: Path) -> None:
    group = {"at": "1 s", "sequence": [down(4), {"parallel": [down(5), down(2)]}, down(1)]}
    experiment = Experiment.model_validate({**NETWORK, "faults": [group]})

    again = Experiment.model_validate(experiment.model_dump(by_alias=True))

    assert again == experiment


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"at": "1 s", "sequence": []}, "has no members"),
        ({"sequence": [down(1)]}, "does not say when it starts"),
        ({"at": "1 s", "when": "lag > 1", "sequence": [down(1)]}, "gives at and when"),
        ({"at": "1 s", "sequence": [down(1)], "parallel": [down(1)]}, "both a sequence and parallel"),
        ({"at": "1 s", "sequence": [down(1, at="3 s")]}, "gives at in a group"),
        ({"at": "1 s", "sequence": [{"after": "x", "parallel": [down(1)]}]}, "gives after in a group"),
        ({"at": "1 s", "every": "9 s", "sequence": [down(1)]}, "a group has no 'every'"),
        ({"at": "1 s", "sequence": [{"do": "down", "on": "h1 -- s1"}, down(1)]}, "which never ends"),
        ({"at": "1 s", "sequence": [down(1), {"do": "dwn", "on": "h1 -- s1"}]}, "did you mean 'down'"),
        ({"at": "1 s", "sequence": [down(1), down(1, on="h9 -- s1")]}, "no link"),
        ({"at": "99 s", "sequence": [down(1), down(1)]}, "when the load of 100 s is over"),
        (down(1, after=["x"]), "no other fault 'x'"),
        (down(1, after=["5 messages", "x"]), "together with others"),
    ],
)
def test_a_wrong_group_is_refused_with_the_line(tmp_path: Path, fault: dict[str, Any], complaint: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump({"s2g": 1, **NETWORK, "faults": [down(1, at="0 s", name="first"), fault]}))

    with pytest.raises(BadInput, match=complaint) as caught:
        make_plan(load_experiment(path).experiment, seed=1)

    assert all("Traceback" not in str(mistake) for mistake in caught.value.mistakes)


def test_mistakes_in_a_group_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(
        yaml.safe_dump({"s2g": 1, **NETWORK})
        + "faults:\n"
        + "  - {do: down, on: h2 -- s1, at: 1 s, for: 1 s}\n"
        + "  - at: 10 s\n"
        + "    sequence:\n"
        + "      - {do: down, on: h1 -- s1, for: 1 s}\n"
        + "      - {do: down, on: h7 -- s1, for: 1 s}\n"
    )

    with pytest.raises(BadInput) as caught:
        load_experiment(path)

    [mistake] = caught.value.mistakes
    lines = path.read_text().splitlines()
    assert mistake.line is not None
    assert "h7" in lines[mistake.line - 1]
