"""The environment of a program on a host."""

from __future__ import annotations

import pytest

from stream2gym.link import LinkSettings
from tests.support.network import Lab, network

TELL = "import json, os; print(json.dumps(dict(os.environ)), flush=True)"


def test_a_program_sees_what_the_experiment_names_and_no_secret_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the caller")
    monkeypatch.setenv("LC_TIME", "C")
    with Lab(network({"h1 -- s1": LinkSettings()})) as lab:
        seen = lab.program("h1", TELL, env={"NAMED": "in the experiment"}).result()

    assert "AWS_SECRET_ACCESS_KEY" not in seen
    assert (seen["NAMED"], seen["LC_TIME"], seen["S2G_HOST"]) == ("in the experiment", "C", "h1")
