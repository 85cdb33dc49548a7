"""Whatever a file holds, preparing it ends in a plan or in mistakes that a person can read."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.prepare import prepare_experiment
from stream2gym.spec.loading import load_experiment
from tests.unit.spec.mutations import (
    GRAPHML_SEED,
    REFERRED,
    YAML_SEED,
    broken,
    odd_graphml,
    odd_referred,
    odd_yaml,
    valid_graphml,
    valid_yaml,
)


def _outcomes(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, seed: int) -> Counter[str]:
    monkeypatch.chdir(folder)
    chance = random.Random(seed)
    seen: Counter[str] = Counter()
    for number in range(count):
        graphml = number % 2 == 0
        wish = chance.random()
        files = dict(REFERRED)
        if wish < 0.22:
            form, data = "well-formed", (valid_graphml if graphml else valid_yaml)(chance).encode()
        elif wish < 0.55:
            form, data = "well-formed", (odd_graphml if graphml else odd_yaml)(chance).encode()
            files = odd_referred(chance) if graphml and chance.random() < 0.4 else files
        else:
            form, data = "broken", broken(GRAPHML_SEED if graphml else YAML_SEED, chance)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        path = folder / ("x.graphml" if graphml else "x.yaml")
        path.write_bytes(data)
        seen[form] += 1
        try:
            prepare_experiment(path, tolerant=chance.random() < 0.2)
        except BadInput as error:
            told = bool(error.mistakes) and all(mistake.what for mistake in error.mistakes)
            seen["refused" if told else "refused without a word"] += 1
        else:
            seen["valid"] += 1
    return seen


def _is_a_fair_mix(seen: Counter[str], count: int) -> bool:
    if seen["refused without a word"]:
        return False
    return seen["well-formed"] >= count / 2 and seen["valid"] >= count / 5 and seen["refused"] >= count / 5


@pytest.mark.parametrize("seed", [7, 8, 9])  # three tests, so that two workers share them
def test_mutated_files_are_planned_or_refused_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    seen = _outcomes(tmp_path, monkeypatch, 500, seed=seed)
    assert _is_a_fair_mix(seen, 500), seen


@pytest.mark.long
def test_ten_thousand_mutated_files_are_planned_or_refused_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _outcomes(tmp_path, monkeypatch, 10_000, seed=11)
    assert _is_a_fair_mix(seen, 10_000), seen


def test_the_variations_that_are_meant_to_be_valid_are(tmp_path: Path) -> None:
    chance = random.Random(3)
    for name, text in REFERRED.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for _ in range(40):
        for name, make in (("x.graphml", valid_graphml), ("x.yaml", valid_yaml)):
            path = tmp_path / name
            path.write_text(make(chance), encoding="utf-8")
            assert load_experiment(path, cwd=tmp_path).experiment.topology.hosts
