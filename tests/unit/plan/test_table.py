"""The plan as people and machines read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream2gym.cli.main import main
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.plan_tables import plan_facts, plan_tables
from stream2gym.spec.model import Experiment

EXPERIMENT = """
s2g: 1
name: rides
topology:
  hosts: [h1, {name: h2, cpu: 50 %}, h3]
  switches: [s1]
  links: ["h1 -- s1: 5 ms, 100 Mbps, 0.1 % loss", "h2 -- s1", {between: [h3, s1], latency: 0 ms, reorder: 1 %}]
brokers: [{on: h2}]
topics: [in]
producers: [{name: gen, on: h1, topic: in, rate: 10/s, size: 25 B}]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rides.yaml"
    path.write_text(EXPERIMENT)
    return str(path)


def test_a_person_reads_hosts_components_links_paths_and_warnings(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", file]) == 0
    shown = capsys.readouterr().out
    for text in ("10.0.0.2", "broker-h2", "5 ms, 100 Mbps, 0.1 % loss", "12 ms", "100 Mbps", "50 % cpu"):
        assert text in shown
    assert "warning: link h3 -- s1: reordering has no effect" in shown
    assert "broker-h2 votes" in shown


def test_a_machine_reads_json_and_a_drawing_is_written(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawing = tmp_path / "rides.svg"
    assert main(["plan", file, "--json", "--seed", "9", "--svg", str(drawing)]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["seed"] == 9
    assert [host["address"] for host in plan["network"]["hosts"]] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert any("reordering" in warning for warning in plan["warnings"])
    assert drawing.read_text().startswith("<svg")


def test_a_drawing_that_cannot_be_written_is_bad_input(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", file, "--svg", str(tmp_path / "missing" / "x.svg")]) == 2
    assert "cannot write the drawing" in capsys.readouterr().err


def star(count: int) -> Experiment:
    hosts = [f"h{n}" for n in range(1, count + 1)]
    parts: dict[str, Any] = {
        "hosts": hosts,
        "switches": ["s1"],
        "links": [f"{host} -- s1" for host in hosts],
    }
    return Experiment.model_validate({"topology": parts})


def test_long_tables_are_cut_and_say_so() -> None:
    plan = make_plan(star(60))
    hosts, links, paths = plan_tables(plan)
    assert len(hosts.rows) == len(links.rows) == len(paths.rows) == 40
    assert hosts.note == "20 more rows; --all shows them"
    assert "1570 more pairs of hosts are not looked at" in paths.note
    whole = plan_tables(plan, most=None)
    assert len(whole[0].rows) == 60


def test_pairs_without_a_path_and_ways_that_differ_are_shown() -> None:
    topology = {
        "hosts": ["h1", "h2", "h3"],
        "switches": ["s1", "s2", "s3"],
        "links": [
            "h1 -- s1", "h2 -- s3", "s1 -- s3: 20 ms",
            {"between": ["s1", "s2"], "latency": "50 ms", "forward": {"latency": "1 ms"}},
            {"between": ["s2", "s3"], "latency": "50 ms", "forward": {"latency": "1 ms"}},
        ],
        "routing": {"by": "latency", "reconverge": "200 ms"},
    }  # fmt: skip
    plan = make_plan(Experiment.model_validate({"topology": topology}))
    paths = {(row[0], row[1]): row for row in plan_tables(plan)[-1].rows}
    assert paths["h1", "h2"][2] == "s1 s2 s3; back over s3 s1"
    assert paths["h1", "h2"][3] == "26 ms"
    assert paths["h1", "h3"][2] == "no path"
    assert ("routing", "lowest latency; chosen anew 200 ms after a cut") in plan_facts(plan)
