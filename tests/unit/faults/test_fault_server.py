"""Faults by hand: asked for at the socket of a run, checked as in a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym.cli.fault import add, question_of, words
from stream2gym.errors import BadInput
from stream2gym.execution.fault_server import SOCKET, FaultServer, send_request
from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.spec.model import Experiment
from tests.support.planned_faults import NoConditions
from tests.unit.faults.fakes import Scene

LINK = "h1 -- s1"


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def folder(tmp_path: Path, scene: Scene) -> Iterator[Path]:
    deep = tmp_path / ("a-rather-long-name-" * 8)  # longer than the address of a socket may be
    deep.mkdir()
    hosts = [f"h{n}" for n in range(1, 6)]
    experiment = Experiment.model_validate(
        {
            "topology": {"hosts": hosts, "switches": ["s1"], "links": [f"{host} -- s1" for host in hosts]},
            "brokers": [{"on": "h1"}],
        }
    )
    runner = FaultRunner([], scene.context, scene._tell, NoConditions(), t0_ns=0, end_ns=2**62, seed=1)
    server = FaultServer(runner, deep, lambda: experiment, tmp_path)
    yield deep
    server.close()
    assert not (deep / SOCKET).exists()


def question(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add(parser)
    return question_of(parser.parse_args(["RUN", *arguments]))


def test_a_fault_by_hand_is_in_force_until_it_is_healed(folder: Path, scene: Scene) -> None:
    applied = send_request(folder, question("down h1 -- s1", "--name", "mine"))
    during = scene.fabric.up(LINK)
    listed = send_request(folder, question("list"))
    send_request(folder, question("heal", "mine"))

    assert words("apply", applied, 0) == ["mine: down h1 -- s1: in force"]
    assert words("list", listed, 0) == ["mine: down h1 -- s1: in force"]
    assert (during, scene.fabric.up(LINK)) == ((False, False), (True, True))
    assert scene.told() == [("fault-applied", "mine"), ("fault-healed", "mine")]


def test_settings_are_read_as_in_files(folder: Path, scene: Scene) -> None:
    send_request(folder, question("degrade h1 -- s1", "--set", "latency=50ms", "--set", "loss=1 %"))

    settings = scene.fabric.links[LINK][0]
    assert (settings.latency_ms, settings.loss) == (50, 0.01)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("dwn h1 -- s1",), "did you mean 'down'"),
        (("down h9 -- s1",), "no link"),
        (("kill broker-h7",), "no component"),
        (("degrade h1 -- s1", "--set", "latncy=5ms"), "latency"),
        (("down h1 -- s1", "--for", "soon"), "soon"),
        (("heal", "nobody"), "no such fault is in force"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    folder: Path, scene: Scene, arguments: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        send_request(folder, question(*arguments))
    assert scene.events == []


def test_a_run_that_takes_no_faults_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="takes no faults now"):
        send_request(tmp_path, {"do": "list"})


def test_words_for_the_shell_are_checked_before_the_run_is_asked() -> None:
    with pytest.raises(BadInput, match="quote the fault"):
        question("down", "h1")
    with pytest.raises(BadInput, match="which fault"):
        question("heal")
    with pytest.raises(BadInput, match="is not KEY=VALUE"):
        question("down h1 -- s1", "--set", "latency")


def test_a_fault_by_hand_is_not_refused_for_what_has_changed_elsewhere(tmp_path: Path, scene: Scene) -> None:
    """The file of a producer whose name has the word in it is gone since the run began."""
    experiment = Experiment.model_validate(
        {
            "topology": {"hosts": ["h1"], "switches": ["s1"], "links": ["h1 -- s1"]},
            "brokers": [{"on": "h1"}],
            "topics": ["in"],
            "producers": [{"name": "default", "on": "h1", "type": "SFST", "topic": "in", "file": "gone.txt"}],
        }
    )
    runner = FaultRunner([], scene.context, scene._tell, NoConditions(), t0_ns=0, end_ns=2**62, seed=1)
    server = FaultServer(runner, tmp_path, lambda: experiment, tmp_path)
    try:
        assert server._plan_fault({"do": "down", "on": ["h1 -- s1"]}).kind == "down"
        with pytest.raises(BadInput, match="faults"):
            server._plan_fault({"do": "down", "on": ["h1 -- s9"]})
    finally:
        server.close()
