"""The exercises in the READMEs of the examples can be done as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stream2gym.api import prepare
from tests.support.examples import EXAMPLES
from tests.support.exercises import Exercise, read_exercises

EXERCISES = read_exercises()
# Sentences that ask the reader to change something.
_ASKS = re.compile(r"^(Try|Let|Change|Narrow|Widen|Break it|Drop|Leave)\b|[.:;] (let|try|leave) ", re.MULTILINE)
# What is asked for is not a changed run: commands beside one, and options that a test of its own runs.
_ELSEWHERE = {"network", "military-coordination"}


def test_a_readme_that_asks_for_a_change_has_it_as_an_exercise() -> None:
    asking = {path.parent.name for path in EXAMPLES.glob("*/README.md") if _ASKS.search(path.read_text("utf-8"))}
    assert asking - _ELSEWHERE <= {exercise.example for exercise in EXERCISES}
    assert len(EXERCISES) >= 7


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_an_exercise_fits_its_example(exercise: Exercise, tmp_path: Path) -> None:
    path, overrides = exercise.prepare(tmp_path)
    planned, _ = prepare(path, overrides=overrides)
    assert exercise.edits or exercise.overrides, "nothing is changed"
    assert exercise.fails or exercise.holds, "nothing is said about what becomes of it"
    assert {*exercise.fails, *exercise.holds} <= set(planned.experiment.expect)


def test_the_exercise_of_word_count_changes_the_words_of_its_texts() -> None:
    [exercise] = [one for one in EXERCISES if one.example == "word-count"]
    [(old, new)] = exercise.edits["split.py"].items()
    texts = [path.read_text("utf-8").lower() for path in (EXAMPLES / "word-count" / "texts").iterdir()]
    assert any(re.split(old, text) != re.split(new, text) for text in texts)


def test_every_option_in_the_table_of_the_cut_site_is_run_by_a_test() -> None:
    readme = (EXAMPLES / "military-coordination" / "README.md").read_text("utf-8")
    tests = (Path(__file__).parents[2] / "system" / "test_examples_sites.py").read_text("utf-8")
    options = re.findall(r"`--set '?([^=`]+)=([^`']+)'?`", readme)
    assert len(options) == 4
    for key, value in options:
        assert f'"{key}": "{value}"' in tests, f"no test runs --set {key}={value}"
