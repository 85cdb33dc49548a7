"""Files beside an experiment never run inside us: not in the command, not in any process that it starts.

The folder holds modules with the names of the standard library's and of our packages. Each of them leaves a mark when
somebody imports it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from stream2gym.own_python import interpreter_flags, own_python
from tests.support.hostile import Hostile
from tests.support.users import ROOT

SOURCE = ROOT / "src" / "stream2gym"
EXPERIMENT = 's2g: 1\ntopology: {hosts: [h1, h2], links: ["h1 -- h2"]}\n'
# Who starts an interpreter for a program of the user's, or by a script that imports nothing of ours.
OTHER_INTERPRETERS = {
    "own_python.py", "clients/start_gate.py", "components/program_command.py", "components/spark.py",
    "execution/result_checks.py",
    "hosts/probing.py", "software/child_process.py", "software/spark_start_cache.py",
    # Makes the environment of PyFlink with the venv module (-I), and asks an interpreter of the user's for PyFlink.
    "software/flink_python.py",
    # Spark starts Python on its workers, with PYTHONSAFEPATH; the other one only tells its path.
    "sweep_cluster/cluster_context.py", "sweep_cluster/first_contact.py",
}  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    made = Hostile(tmp_path)
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    return made


def run(hostile: Hostile, *argv: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, cwd=hostile.folder, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("command", [("validate", "x.yaml"), ("plan", "x.yaml")])
def test_the_command_imports_nothing_from_the_working_directory(hostile: Hostile, command: tuple[str, ...]) -> None:
    done = run(hostile, str(ROOT / "s2g"), *command)
    assert done.returncode == 0, done.stderr
    assert hostile.marks() == []


@pytest.mark.parametrize("path", [":", "HERE"])
def test_the_callers_pythonpath_brings_nothing_into_the_command(hostile: Hostile, path: str) -> None:
    env = {"PYTHONPATH": path.replace("HERE", str(hostile.folder))}
    done = run(hostile, str(ROOT / "s2g"), "validate", "x.yaml", env=env)
    assert done.returncode == 0, done.stderr
    assert hostile.marks() == []


@pytest.mark.parametrize("command", [("test", "--collect-only", "tests/unit/test_second_signal.py"), ("bench",)])
def test_tests_and_benchmarks_import_nothing_from_the_working_directory(
    hostile: Hostile, command: tuple[str, ...]
) -> None:
    done = run(hostile, str(ROOT / "s2g"), *command)
    assert done.returncode == 0, done.stderr
    assert hostile.marks() == []


def test_the_installed_script_imports_nothing_from_its_own_folder(hostile: Hostile) -> None:
    script = hostile.folder / "s2g"
    script.write_text("import sys\nfrom stream2gym.__main__ import main\nsys.exit(main())\n")
    (hostile.folder / "stream2gym.py").unlink()  # that one, Python itself would import before us
    done = run(hostile, sys.executable, str(script), "validate", "x.yaml")
    assert done.returncode == 0, done.stderr
    assert hostile.marks() == []


def test_no_process_of_ours_imports_from_the_working_directory(hostile: Hostile) -> None:
    programs = [
        str(path.relative_to(SOURCE.parent).with_suffix("")).replace("/", ".")
        for path in SOURCE.rglob("*.py")
        if "examples" not in path.parts and 'if __name__ == "__main__"' in path.read_text()
    ]
    assert "stream2gym.clients.producer" in programs
    text = "".join(f"import {name}\n" for name in programs) + "import pyspark.sql, pyarrow.parquet, pymysql\n"
    done = run(hostile, *own_python("-c", text), env={"PYTHONPATH": str(hostile.folder)})
    assert done.returncode == 0, done.stderr
    assert hostile.marks() == []


def test_the_same_call_without_our_flags_leaves_marks(hostile: Hostile) -> None:
    run(hostile, sys.executable, "-m", "stream2gym", "validate", "x.yaml")
    assert hostile.marks() != []


def test_every_interpreter_of_ours_is_started_in_one_way() -> None:
    users = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "examples" not in path.parts and "sys.executable" in path.read_text()
    }
    assert users == OTHER_INTERPRETERS


def test_a_package_that_comes_from_pythonpath_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert interpreter_flags()[:3] == ["-P", "-E", "-s"]
    monkeypatch.setenv("PYTHONPATH", f"/nowhere{os.pathsep}{SOURCE.parent}")
    assert interpreter_flags()[:2] == ["-P", "-s"]
