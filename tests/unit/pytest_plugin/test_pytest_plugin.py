"""Experiments as tests of pytest. The runs are made up here; tests/system/test_wheel.py has real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stream2gym.errors import BadInput
from stream2gym.experiment_tests import read_tests
from stream2gym.gym import Gym, SharedSession, _enter, _leave

ROOT = Path(__file__).resolve().parents[3]
# Takes the place of a real run: a recorded one, which fails where it was asked to.
CONFTEST = """
import json, shutil
from pathlib import Path
import pytest
import stream2gym.gym
from stream2gym.analysis.analyse import load_analysis
from stream2gym.api import Result
from stream2gym.record.folder import RunFolder
from tests.unit.report.synthetic import rich_run, rich_verdict
from stream2gym.judge.verdict import Verdict

def perform(planned, loaded, *, out, session):
    made = rich_run(out.parent / "making")
    shutil.move(made, out)
    shutil.rmtree(out.parent / "making")
    (out / "report.html").write_text("")
    bad = str(planned.experiment.time) == "6 s"
    judged = rich_verdict() if bad else Verdict("pass")
    (out / "told.json").write_text(json.dumps([str(planned.experiment.time), planned.plan.seed]))
    return Result(RunFolder.open(out), "done", judged, load_analysis(out), None, out / "report.html")

stream2gym.gym.perform = perform
"""
TEST = """
def test_it(gym):
    result = gym.run("pipeline.yaml", set={"time": TIME}, seed=7)
    assert result.passed
    assert result.value("lost") == 412
"""
PIPELINE = """
s2g: 1
name: pipe
topology: {hosts: [h1, h2, h3], links: ["h1 -- h2", "h2 -- h3"]}
brokers: [{on: h2}]
topics: [in]
producers: [{name: gen, on: h1, topic: in, rate: 10/s}]
consumers: [{name: see, on: h3, topics: [in]}]
time: 5 s
"""


def call_pytest(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST, "utf-8")
    (folder / "pipeline.yaml").write_text(PIPELINE, "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    argv = [sys.executable, "-P", "-m", "pytest", "-p", "stream2gym.pytest_plugin", "-p", "no:cacheprovider", *words]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_a_test_that_passes_leaves_no_run_and_puts_its_figures_into_the_xml(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST.replace("TIME", "'5 s'"), "utf-8")
    done = call_pytest(tmp_path, "--s2g", "--junitxml=out.xml")
    assert done.returncode == 0, done.stdout
    assert not (tmp_path / "s2g-runs").exists()
    properties = {
        one.get("name"): one.get("value") for one in ElementTree.parse(tmp_path / "out.xml").iter("property")
    }
    assert properties["verdict"] == "pass"
    assert float(properties["lost"] or 0) == 412


def test_a_test_that_fails_shows_why_and_keeps_its_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST.replace("TIME", "'6 s'"), "utf-8")
    done = call_pytest(tmp_path, "--s2g")
    assert done.returncode == 1
    assert "lost == 0" in done.stdout
    assert "412" in done.stdout
    assert "producer-h4 #10000 in in/2 offset 3400" in done.stdout
    [kept] = (tmp_path / "s2g-runs").iterdir()
    assert f"{kept}/report.html" in done.stdout


def test_without_the_option_experiments_are_skipped_and_files_are_not_collected(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST.replace("TIME", "'5 s'"), "utf-8")
    (tmp_path / "s2g_pipe.yaml").write_text(PIPELINE, "utf-8")
    done = call_pytest(tmp_path, "-rs")
    assert done.returncode == 0
    assert "needs --s2g" in done.stdout
    assert "1 skipped" in done.stdout
    (tmp_path / "pytest.ini").unlink()


def test_files_are_tests_at_every_point_of_their_axes(tmp_path: Path) -> None:
    (tmp_path / "s2g_pipe.yaml").write_text(PIPELINE, "utf-8")
    points = "experiment: pipeline.yaml\naxes: {time: [5 s, 6 s], producers.gen.acks: [1, all]}\nseed: 3\n"
    (tmp_path / "s2g_points.yaml").write_text(points, "utf-8")
    done = call_pytest(tmp_path, "--s2g", "-v", "--s2g-keep=all", "--s2g-runs=kept", "--junitxml=out.xml")
    assert done.returncode == 1, done.stdout
    assert "s2g_pipe.yaml::run PASSED" in done.stdout
    assert "s2g_points.yaml::run[time=5 s, producers.gen.acks=1] PASSED" in done.stdout
    assert "s2g_points.yaml::run[time=6 s, producers.gen.acks=all] FAILED" in done.stdout
    assert "producer-h4 #10000" in done.stdout
    assert "Traceback" not in done.stdout
    assert len(list((tmp_path / "kept").iterdir())) == 5
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase")}
    assert len(cases) == 5
    assert all(case.find("properties") is not None for case in cases.values())


def test_options_reach_every_experiment(tmp_path: Path) -> None:
    (tmp_path / "s2g_pipe.yaml").write_text(PIPELINE, "utf-8")
    assert call_pytest(tmp_path, "--s2g", "--s2g-set", "time=6s").returncode == 1
    assert call_pytest(tmp_path, "--s2g").returncode == 0
    (tmp_path / "s2g_pipe.yaml").write_text(PIPELINE.replace("on: h2", "on: h9"), "utf-8")
    done = call_pytest(tmp_path, "--s2g")
    assert done.returncode == 1
    assert "h9" in done.stdout
    assert "perform" not in done.stdout


def test_a_file_with_mistakes_is_refused_with_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "s2g_wrong.yaml").write_text("experimant: a.yaml\naxes: {time: 5 s}\nseed: x\nset: [1]\n", "utf-8")
    done = call_pytest(tmp_path, "--s2g")
    assert done.returncode == 2
    for words in ("did you mean 'experiment'", "axes.time", "no whole number", "set: is no mapping", "is missing"):
        assert words in done.stdout, words


@pytest.mark.parametrize("text", ["- a\n", "", "a: [", "experiment: x\naxes: {time: []}\n"])
def test_files_that_are_no_tests(tmp_path: Path, text: str) -> None:
    file = tmp_path / "s2g_x.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(BadInput):
        read_tests(file)


def test_a_file_names_a_bundled_example(tmp_path: Path) -> None:
    file = tmp_path / "s2g_x.yaml"
    file.write_text("experiment: hello\nset: {time: 2 s}\n", "utf-8")
    [test] = read_tests(file)
    assert (test.name, test.experiment, test.settings) == ("run", "hello", {"time": "2 s"})


def test_a_path_begins_beside_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "tests"
    here.mkdir()
    (here / "pipe.yaml").touch()
    gym = Gym(here, tmp_path / "runs", SharedSession())
    assert gym._find("pipe.yaml") == here / "pipe.yaml"
    assert gym._find("hello") == "hello"
    assert gym._find("missing.yaml") == here / "missing.yaml"


def test_a_run_waits_until_it_fits_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "ledger.json"
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: other.pid)
            assert _enter(ledger, 6, 10)
        assert not _enter(ledger, 5, 4)  # less is free now, because the other run has begun
        assert _enter(ledger, 4, 4)
        _leave(ledger)
        assert ledger.exists()
    finally:
        other.communicate(b"\n")
    assert _enter(ledger, 50, 10)  # the other process is gone, and one run alone always begins
    _leave(ledger)
    assert not ledger.exists()
