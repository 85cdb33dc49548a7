"""What programs of the user's import: their environment in a run, and sensible answers outside of one."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stream2gym import program
from stream2gym.components.status_lines import parse_status_line, samples_in

RUN = {
    "S2G_COMPONENT": "shop", "S2G_INSTANCE": "2", "S2G_BOOTSTRAP": "10.0.0.2:9092", "S2G_TOPICS": "a,b",
    "S2G_GROUP": "g", "S2G_SEED": "7", "S2G_GRACE_S": "2.5",
}  # fmt: skip


def test_in_a_run_it_says_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RUN.items():
        monkeypatch.setenv(name, value)
    assert (program.name(), program.instance(), program.bootstrap()) == ("shop", 2, "10.0.0.2:9092")
    assert (program.topics("x"), program.group("x")) == (["a", "b"], "g")
    assert (program.seed(), program.grace_s()) == (7, 2.5)


def test_outside_a_run_it_says_what_the_caller_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*RUN, "S2G_STOP_NS"):
        monkeypatch.delenv(name, raising=False)
    assert (program.bootstrap(), program.topics("t"), program.group("g")) == ("localhost:9092", ["t"], "g")
    assert (program.name("x"), program.instance(), program.is_load_over()) == ("x", 1, False)


def test_the_load_is_over_when_its_time_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2G_STOP_NS", str(time.monotonic_ns() + 60 * 10**9))
    assert 59 < program.load_left_s() < 60
    assert not program.is_load_over()
    monkeypatch.setenv("S2G_STOP_NS", str(time.monotonic_ns()))
    assert program.is_load_over()


def test_reports_are_lines_that_the_run_understands(capsys: pytest.CaptureFixture[str]) -> None:
    program.report(sent=3, late_s=0.5)
    program.report("warmed-up", after=2)
    numbers, event = map(parse_status_line, capsys.readouterr().out.encode().splitlines())
    assert numbers is not None
    assert dict(samples_in(numbers)) == {"sent": 3.0, "late_s": 0.5}
    assert event == {"event": "warmed-up", "after": 2}


def test_it_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    text = Path(program.__file__).read_text("utf-8")
    imported = {
        alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert imported <= set(sys.stdlib_module_names)
    copy = tmp_path / "program.py"
    copy.write_text(text)
    done = subprocess.run([sys.executable, "-I", "-S", str(copy)], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
