"""A click on the page: from the request to the links of the run, over the same socket as ``s2g fault``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from stream2gym.execution.fault_server import FaultServer
from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Experiment
from stream2gym.web.app import PageServer, make_app
from stream2gym.web.run_watch import RunWatch
from tests.support.planned_faults import NoConditions
from tests.unit.faults.fakes import Scene
from tests.unit.web.web_runs import fake_folder

LINK = "h1 -- s1"
TOKEN = "token"
BASE = "http://127.0.0.1:8000"
HEADERS = {"authorization": f"Bearer {TOKEN}", "origin": BASE}


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def client(tmp_path: Path, scene: Scene) -> Iterator[TestClient]:
    folder = fake_folder(tmp_path / "run")
    hosts = [f"h{n}" for n in range(1, 6)]
    experiment = Experiment.model_validate(
        {
            "topology": {"hosts": hosts, "switches": ["s1"], "links": [f"{host} -- s1" for host in hosts]},
            "brokers": [{"on": "h1"}],
        }
    )
    runner = FaultRunner([], scene.context, scene._tell, NoConditions(), t0_ns=0, end_ns=2**62, seed=1)
    server = FaultServer(runner, folder.path, lambda: experiment, tmp_path)
    watch = RunWatch(RunFolder.open(folder.path))
    with TestClient(make_app(PageServer(watch, read_only=False), TOKEN), base_url=BASE) as client:
        yield client
    watch.close()
    server.close()


def ask(client: TestClient, body: Any) -> Any:
    return client.post("/api/faults", headers=HEADERS, json=body).json()


def test_a_link_is_cut_and_healed(client: TestClient, scene: Scene) -> None:
    name = ask(client, {"do": "apply", "fault": {"do": "down", "on": [LINK]}})["ok"]["fault"]
    assert scene.fabric.up(LINK) == (False, False)
    assert [one["fault"] for one in ask(client, {"do": "list"})["ok"]["active"]] == [name]
    assert ask(client, {"do": "heal", "name": name})["ok"][0]["fault"] == name
    assert scene.fabric.up(LINK) == (True, True)
    assert scene.told() == [("fault-applied", name), ("fault-healed", name)]


def test_the_sliders_degrade_a_link(client: TestClient, scene: Scene) -> None:
    settings = {"latency": "50 ms", "loss": "0.5 %", "bandwidth": "5 Mbps"}
    assert not ask(client, {"do": "apply", "fault": {"do": "degrade", "on": [LINK], "settings": settings}})["ok"][
        "failed"
    ]
    changed = scene.fabric.links[LINK][0]
    assert (changed.latency_ms, changed.loss, changed.bandwidth_bps) == (50, 0.005, 5e6)


def test_hosts_are_partitioned_from_the_rest(client: TestClient) -> None:
    groups = [["h1", "h2"], ["h3", "h4", "h5"]]
    answer = ask(client, {"do": "apply", "fault": {"do": "partition", "on": [], "settings": {"groups": groups}}})
    assert answer["ok"]["on"] == ["h1 h2 | h3 h4 h5"]


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"do": "down", "on": ["h9 -- s1"]}, "no link"),
        ({"do": "dwn", "on": [LINK]}, "did you mean 'down'"),
        ({"do": "degrade", "on": [LINK], "settings": {}}, "changes nothing"),
        ({"do": "kill", "on": ["<script>"]}, "no component"),
    ],
)
def test_a_wrong_fault_is_refused_in_the_words_of_the_run(
    client: TestClient, scene: Scene, fault: dict[str, Any], complaint: str
) -> None:
    answer = client.post("/api/faults", headers=HEADERS, json={"do": "apply", "fault": fault})
    assert answer.status_code == 400
    assert complaint in json.dumps(answer.json())
    assert scene.told() == []
