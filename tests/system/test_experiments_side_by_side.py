"""Experiments as tests of a project, as an ordinary user: two at once under pytest, and under unittest."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.users import User, with_software
from tests.support.wheel import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
PIPELINE = """
s2g: 1
name: pipe
topology: {hosts: [h1, h2, h3], links: ["h1 -- h2: 5 ms", "h2 -- h3: 5 ms"]}
brokers: [{on: h2}]
topics: [in]
producers: [{name: gen, on: h1, topic: in, rate: 200/s, acks: all}]
consumers: [{name: see, on: h3, topics: [in], group: g}]
time: 20 s
expect: [lost == 0]
"""


def make_project(user: User, name: str, **files: str) -> Path:
    folder = Path(user.env["HOME"]) / name
    folder.mkdir()
    for file, text in {"pipeline.yaml": PIPELINE, **files}.items():
        (folder / file).write_text(text, "utf-8")
    if user.uid is not None:
        subprocess.run(["chown", "-R", f"{user.uid}:{user.uid}", str(folder)], check=True)
    return folder


def call(user: User, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", **user.env}
    extra: list[int] | None = None if user.uid is None else []
    return subprocess.run(
        [user.python, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False,
        user=user.uid, group=user.uid, extra_groups=extra,
    )  # fmt: skip


def test_two_experiments_run_at_once(users: dict[str, User], tmp_path: Path) -> None:
    user = with_software(users["ordinary"])
    if user.uid is None:
        user = User(user.name, user.python, None, {"HOME": str(tmp_path)})
    points = {f"s2g_{name}.yaml": "experiment: pipeline.yaml\n" for name in ("one", "two")}
    folder = make_project(user, "side-by-side", **points)
    words = ("-m", "pytest", "-p", "stream2gym.pytest_plugin", "--s2g", "--s2g-keep", "all", "-n", "2", "-v")
    done = call(user, folder, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"PASSED s2g_(one|two)\.yaml", done.stdout)) == 2
    spans = [phases_of(run) for run in (folder / "s2g-runs").iterdir()]
    assert len(spans) == 2
    assert max(begin for begin, _ in spans) < min(end for _, end in spans), "their loads were at the same time"


def phases_of(run: Path) -> tuple[int, int]:
    """When the run began its network, and when it stopped."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    begun = {event["phase"]: event["at_ns"] for event in events if event["event"] == "phase"}
    return begun["network"], begun["stop"]


def test_the_documented_class_runs_under_unittest(users: dict[str, User], tmp_path: Path) -> None:
    user = with_software(users["ordinary"])
    if user.uid is None:
        user = User(user.name, user.python, None, {"HOME": str(tmp_path)})
    page = (ROOT / "docs" / "tools.md").read_text("utf-8")
    [snippet] = re.findall(r"```python\n(import unittest\n.*?)```", page, re.DOTALL)
    folder = make_project(user, "unit", **{"test_pipeline.py": snippet})
    done = call(user, folder, "-m", "unittest", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_no_loss" in done.stderr
    [run] = (folder / "runs").iterdir()
    assert (run / "report.html").is_file()
