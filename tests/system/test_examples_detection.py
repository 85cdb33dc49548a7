"""Fraud and intrusion detection for real, and broken copies of their jobs, which are found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import EXAMPLES, run_copy, verdict_of
from tests.support.play import Played, play

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def ran_well(run: Played) -> dict[str, Any]:
    assert run.outcome.error is None
    assert not run.events("check-failed")
    (said,) = run.events("checked")
    assert said["compared"] > 0
    assert said["mismatches"] == 0
    return said


def test_a_model_of_one_job_judges_the_stream_in_another(tmp_path: Path) -> None:
    run = play(EXAMPLES / "fraud-detection" / "experiment.yaml", tmp_path)
    said = ran_well(run)
    assert said["precision"] >= 0.8
    assert said["recall"] >= 0.7
    assert run.samples("program", "train", "precision")[0] >= 0.8
    (trained,) = run.events("finished", component="train")
    (started,) = run.events("query-started", component="score")
    (load,) = run.events("phase", phase="load")
    assert trained["at_ns"] < load["at_ns"]
    assert started["at_ns"] < load["at_ns"]


def test_every_planted_attack_is_found_and_none_invented(tmp_path: Path) -> None:
    run = play(EXAMPLES / "intrusion-detection" / "experiment.yaml", tmp_path)
    assert ran_well(run)["found"] == 9
    for rule in ("scan", "guess", "bare"):
        assert max(run.samples("spark", f"rules.{rule}", "state_rows")) > 0


def test_a_session_that_opens_after_a_login_hides_no_alarm(tmp_path: Path) -> None:
    """The other broken copies of both jobs are exercises in their READMEs, see test_examples_exercises.py."""
    broken = {"opened <= at AND": "opened <= at + INTERVAL 5 MINUTES AND"}
    run = run_copy("intrusion-detection", tmp_path, {"rules.py": broken})
    assert run.outcome.error is None
    assert verdict_of(run).mismatches
