"""A warm-up that nobody would send, or a first batch that could never come, is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.plan_tables import plan_facts
from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.model import Experiment
from stream2gym.units import Duration

GEN = {"name": "gen", "on": "h1", "topic": "in", "rate": "10/s"}
JOB = {"name": "job", "on": "h1", "app": "job.py", "ready": "batch"}


def experiment(tmp_path: Path, **keys: Any) -> Experiment:
    for name in ("job.py", "lines.txt"):
        (tmp_path / name).touch()
    whole = {"topology": {"hosts": ["h1"]}, "brokers": [{"on": "h1"}], "topics": ["in", "out"], **keys}
    return Experiment.model_validate(whole)


def told(tmp_path: Path, **keys: Any) -> str:
    return "\n".join(map(str, check_experiment(experiment(tmp_path, **keys), tmp_path)))


def test_a_warm_up_is_a_time_and_none_without_the_key(tmp_path: Path) -> None:
    assert experiment(tmp_path).warmup == Duration(0.0)
    assert experiment(tmp_path, warmup="10 s").warmup == Duration(10.0)
    with pytest.raises(ValueError, match="warmup"):
        experiment(tmp_path, warmup="-3 s")
    with pytest.raises(ValueError, match="warmup"):
        experiment(tmp_path, warmup="10 MB")


def test_built_in_producers_send_it_whatever_they_send(tmp_path: Path) -> None:
    assert not told(tmp_path, warmup="1 s", producers=[GEN])
    lines = {"on": "h1", "type": "ELTT", "file": "lines.txt", "topic": "in"}
    assert not told(tmp_path, warmup="1 s", producers=[lines], engines=[JOB])


@pytest.mark.parametrize(
    "producer", [{**GEN, "messages": 0}, {"on": "h1", "type": "CUSTOM", "app": "job.py", "topic": "in"}]
)
def test_a_warm_up_that_nobody_sends_is_refused(tmp_path: Path, producer: dict[str, Any]) -> None:
    assert "warmup: nobody sends warm-up messages" in told(tmp_path, warmup="1 s", producers=[producer])
    assert "no built-in producer sends warm-up messages" in told(tmp_path, producers=[producer], engines=[JOB])


def test_a_first_batch_of_a_job_that_reads_what_nobody_sends_is_refused(tmp_path: Path) -> None:
    deaf = {**JOB, "reads": ["out"]}
    assert "sends warm-up messages to out, so no batch would come" in told(tmp_path, producers=[GEN], engines=[deaf])
    assert not told(tmp_path, producers=[GEN], engines=[{**JOB, "reads": ["in"]}])
    assert not told(tmp_path, producers=[GEN], engines=[{**JOB, "reads": "in"}])
    assert not told(tmp_path, producers=[GEN], engines=[{**deaf, "name": "next"}, JOB]), "another job may feed it"


def test_the_first_batch_of_real_time_mode_cannot_be_waited_for(tmp_path: Path) -> None:
    found = told(tmp_path, producers=[GEN], engines=[{**JOB, "mode": "real-time", "reads": "in"}])
    assert "reports its first batch only when that long batch ends" in found
    assert "warmup: 10 s" in found


def test_the_plan_says_how_long_it_lasts_and_who_sends_it(tmp_path: Path) -> None:
    quiet = {**GEN, "name": "quiet", "messages": 0}
    both = make_plan(experiment(tmp_path, warmup="5 s", producers=[GEN, quiet], engines=[JOB]))
    assert (both.warmup_s, both.warmup_engines, both.warmup_producers) == (5.0, ("job",), ("gen",))
    said = dict(plan_facts(both))["warm-up"]
    assert said.startswith("5 s and until the first batch of job, sent by gen; no performance figure counts it")
    none = make_plan(experiment(tmp_path, producers=[GEN]))
    assert not none.has_warmup
    assert none.warmup_producers == ()
    assert "warm-up" not in dict(plan_facts(none))
    assert make_plan(experiment(tmp_path, producers=[GEN], engines=[JOB])).has_warmup
