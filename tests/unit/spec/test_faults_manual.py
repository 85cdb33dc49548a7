"""The manual of faults: every kind and every key of it is there, and every example is valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stream2gym.kinds.link_settings import LinkChange
from stream2gym.kinds.registry import registry
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.experiment import Fault, FaultGroup
from stream2gym.spec.readers.yaml_documents import read_documents

MANUAL = (Path(__file__).parents[3] / "docs" / "faults.md").read_text()
EXAMPLES = [text for text in re.findall(r"^```yaml\n(.*?)^```", MANUAL, re.M | re.S) if text.startswith("- ")]
SCENE = {
    "topology": {
        "hosts": ["h1", "h2", "h3", "h4", "h5"],
        "switches": ["s1", "s2"],
        "links": [*(f"h{n} -- s1" for n in range(1, 6)), "s1 -- s2"],
    },
    "brokers": [{"on": "h1"}, {"on": "h2"}, {"on": "h3"}],
    "topics": [{"name": "in", "partitions": 3, "replicas": 3}],
    "producers": [{"name": "gen", "on": "h4", "topic": "in"}],
    "consumers": [{"name": "see", "on": "h5", "topics": ["in"]}],
    "time": "60 s",
}


def said() -> list[dict[str, object]]:
    return [fault for text in EXAMPLES for fault in read_documents(text, "faults.md")[0][0].data]


@pytest.mark.parametrize("fault", said(), ids=lambda fault: str(fault.get("do", fault.get("name"))))
def test_every_example_is_valid(fault: dict[str, object], tmp_path: Path) -> None:
    before = [{"name": "storm", "do": "down", "on": "h1 -- s1", "at": "1 s", "for": "1 s"}]
    waits = fault.get("after") == "storm"

    experiment = Experiment.model_validate({**SCENE, "faults": [*(before if waits else []), fault]})

    assert check_experiment(experiment, tmp_path) == []
    assert make_plan(experiment, seed=1).faults


def test_every_kind_has_an_example() -> None:
    assert set(registry("fault").names()) <= {str(fault.get("do")) for fault in said()}


@pytest.mark.parametrize("kind", registry("fault").names())
def test_every_key_of_a_kind_stands_in_its_row(kind: str) -> None:
    found = registry("fault").find(kind)
    assert found is not None
    rows = [line for line in MANUAL.splitlines() if line.startswith(f"| `{kind}` |")]
    assert len(rows) == 1, f"docs/faults.md has {len(rows)} rows for {kind} instead of one"
    row = rows[0]
    assert set(found.settings.known_keys()) <= set(re.findall(r"[a-z_]+", row))  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", [Fault, FaultGroup, LinkChange])
def test_every_key_of_faults_and_groups_is_in_the_manual(model: type[Fault]) -> None:
    assert set(model.known_keys()) - {"settings"} <= set(re.findall(r"[a-z_]+", MANUAL))
