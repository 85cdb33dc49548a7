"""The manual of the experiment format is true: its examples load, its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stream2gym.kinds.registry import registry
from stream2gym.kinds.settings import Model
from stream2gym.spec.model import Consumer, Experiment, Fault, LinkChange, Producer
from stream2gym.spec.model.topology_generators import GENERATORS
from tests.support.loading import Load

MANUAL = (Path(__file__).parents[3] / "docs" / "experiment.md").read_text(encoding="utf-8")


def test_the_whole_example_is_valid(load: Load, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("")
    (example,) = re.findall(r"```yaml\n(.*?)```", MANUAL, re.S)
    assert load(example).experiment.name == "rides"


def test_the_python_example_runs_and_has_no_mistakes() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", MANUAL, re.S)
    names: dict[str, object] = {}
    exec(example, names)
    assert names["mistakes"] == []


@pytest.mark.parametrize("model", [Experiment, Producer, Consumer, Fault, LinkChange])
def test_every_key_is_in_the_manual(model: type[Model]) -> None:
    written = set(re.findall(r"`([a-z0-9_]+)", MANUAL))
    headings = set(re.findall(r"[a-z]+", " ".join(re.findall(r"^##+ (.*)$", MANUAL, re.M)).lower()))
    assert set(model.known_keys()) - {"settings"} <= written | headings


def test_every_kind_is_in_the_manual() -> None:
    kinds = {name for family in ("fault", "engine", "store") for name in registry(family).kinds}
    assert {name for name in kinds | set(GENERATORS) if f"`{name}`" not in MANUAL} == set()
