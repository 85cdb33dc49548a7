"""The wheel works outside a clone: built from a copy, installed in an empty environment, used in an empty folder."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stream2gym.version import __version__
from tests.support.wheel import ROOT, Installed, base_python, build, command, share_packages


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an environment of its own, beside the packages of this one."""
    base = tmp_path_factory.mktemp("wheel")
    wheel, pip = build(base)
    environment = base / "environment"
    command(base_python(), "-m", "venv", "--without-pip", str(environment))
    command(*pip, "--python", str(environment / "bin" / "python"), "install", "--no-deps", "--no-index", str(wheel))
    [site] = environment.glob("lib/python*/site-packages")
    share_packages(site)
    folder = base / "empty"
    folder.mkdir()
    return Installed(wheel, environment, folder)


def files_below(folder: Path) -> set[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)) for path in files}


def test_the_wheel_holds_every_module_lock_list_and_example(installed: Installed) -> None:
    inside = {name.removeprefix("stream2gym/") for name in zipfile.ZipFile(installed.wheel).namelist()}
    ours = files_below(ROOT / "src" / "stream2gym")
    examples = {f"examples/{name}" for name in files_below(ROOT / "examples") if "/runs/" not in name}
    assert sorted((ours | examples) - inside) == []
    assert not [name for name in inside if name.startswith(("tests/", "benchmarks/", "../"))]


def test_the_command_is_that_of_the_wheel(installed: Installed) -> None:
    where = installed.run("python", "-c", "import stream2gym; print(stream2gym.__file__)")
    assert Path(where.stdout.strip()).is_relative_to(installed.environment), where.stderr
    assert installed.run("s2g", "--version").stdout == f"stream2gym {__version__}\n"
    assert installed.run("stream2gym", "--version").stdout == f"stream2gym {__version__}\n"


def test_examples_are_listed_and_each_is_valid(installed: Installed) -> None:
    listed = installed.run("s2g", "examples")
    assert listed.returncode == 0, listed.stderr
    names = sorted(path.parent.name for path in ROOT.glob("examples/*/experiment.yaml"))
    assert [name for name in names if name not in listed.stdout] == []
    done = installed.run("s2g", "validate", "hello")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.timeout(600)  # the environment is new, so that nothing of the analysis is in a start-up cache
def test_hello_runs_in_an_empty_folder(installed: Installed) -> None:
    done = installed.run("s2g", "run", "hello", "--time", "2s", timeout_s=540)
    assert done.returncode in (0, 3), done.stdout + done.stderr  # 3: unknown on a machine that is too busy
    [run] = (installed.folder / "runs").iterdir()
    verdict = json.loads((run / "verdict.json").read_text("utf-8"))
    assert verdict["outcome"] in ("pass", "unknown")
    assert (run / "report.html").is_file(), done.stdout + done.stderr
    assert [path.name for path in installed.folder.iterdir()] == ["runs"]


PIPELINE = """
s2g: 1
name: pipe
topology: {hosts: [h1, h2, h3], links: ["h1 -- h2: 5 ms", "h2 -- h3: 5 ms"]}
brokers: [{on: h2}]
topics: [in]
producers: [{name: gen, on: h1, topic: in, rate: 200/s, acks: all}]
consumers: [{name: see, on: h3, topics: [in], group: g}]
time: 2 s
expect: [lost == 0]
"""
TEST = """
def test_too_much(gym):
    result = gym.run("pipeline.yaml", set={"expect": ["lost == 0", "acknowledged > 100000"]})
    assert result.value("lost") == 0
    assert result.passed
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_pytest_finds_the_plug_in_and_runs_experiments_as_tests(installed: Installed) -> None:
    folder = installed.folder.parent / "project"
    folder.mkdir()
    for name, text in (
        ("pipeline.yaml", PIPELINE),
        ("test_pipe.py", TEST),
        ("s2g_pipe.yaml", "experiment: pipeline.yaml\naxes: {producers.gen.acks: [all]}\n"),
    ):
        (folder / name).write_text(text, "utf-8")
    project = replace(installed, folder=folder)
    done = project.run("python", "-m", "pytest", "--s2g", "-v", "--junitxml=out.xml", timeout_s=540)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "s2g_pipe.yaml::run[producers.gen.acks=all] PASSED" in done.stdout
    assert "test_pipe.py::test_too_much FAILED" in done.stdout
    assert re.search(r"fail +acknowledged > 100000 +\d+", done.stdout)
    [kept] = (folder / "s2g-runs").iterdir()
    assert str(kept / "report.html") in done.stdout
    figures = {one.get("name"): one.get("value") for one in ElementTree.parse(folder / "out.xml").iter("property")}
    assert float(figures["lost"] or -1) == 0
    assert float(figures["acknowledged"] or 0) > 0
