"""What starts PyFlink programs: the gate, the working directory, and an error in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream2gym.clients import flink_python
from stream2gym.clients.flink_python import explain

PY4J = """An error occurred while calling o5.executeSql.
: org.apache.flink.table.api.ValidationException: SQL validation failed.
\tat org.apache.flink.A.b(A.java:1)
Caused by: org.apache.calcite.CalciteException: Column 'x' not found in any table
\tat org.apache.calcite.C.d(C.java:2)
"""


def run(folder: Path, program: str, *args: str, gate: str = "-") -> subprocess.CompletedProcess[str]:
    """Run a program as Flink's driver would, with a module in place of PyFlink."""
    (folder / "pyflink").mkdir(exist_ok=True)
    (folder / "pyflink" / "__init__.py").touch()
    (folder / "pyflink" / "java_gateway.py").write_text("def get_gateway():\n    print('connected', flush=True)\n")
    (folder / "job").mkdir(exist_ok=True)
    (folder / "job" / "beside.py").write_text("WORD = 'beside'\n")
    path = folder / "job" / "job.py"
    path.write_text(program)
    return subprocess.run(
        [sys.executable, flink_python.__file__, gate, str(folder), str(path), *args],
        capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip


def test_a_program_runs_as_if_python_had_been_called_with_it(tmp_path: Path) -> None:
    done = run(tmp_path, "import os, sys, beside\nprint(__name__, sys.argv[1:], os.getcwd(), beside.WORD)\n", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["connected", f"__main__ ['x'] {tmp_path} beside"]


def test_a_program_waits_at_its_gate_after_it_has_connected(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    handle = os.open(gate, os.O_RDWR)
    os.write(handle, b"\n")
    try:
        assert run(tmp_path, "print('runs')", gate=str(gate)).stdout.splitlines() == ["connected", "runs"]
        os.set_blocking(handle, False)
        with pytest.raises(BlockingIOError):
            os.read(handle, 1)
    finally:
        os.close(handle)


def test_the_exit_code_of_a_program_stays(tmp_path: Path) -> None:
    assert run(tmp_path, "raise SystemExit(7)").returncode == 7


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = 1\nx.y\n", "line 2: AttributeError: 'int' object has no attribute 'y'"),
        ("def f():\n    raise ValueError('bad apple')\nf()\n", "line 2: ValueError: bad apple"),
        ("x = 1\nfor\n", "line 2: SyntaxError: invalid syntax"),
        ("import nowhere_at_all", "line 1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
    ],
)
def test_an_error_is_told_in_one_line_with_the_line_of_the_program(
    tmp_path: Path, program: str, expected: str
) -> None:
    done = run(tmp_path, program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"Python error in job.py, {expected}"
    assert "Traceback" in done.stderr


def test_of_an_error_in_the_jvm_the_innermost_cause_is_told() -> None:
    def of(text: str) -> str:
        try:
            raise RuntimeError(text)
        except RuntimeError as error:
            return explain(error, "/job.py")

    assert (
        of(PY4J) == "Python error in job.py: org.apache.calcite.CalciteException: Column 'x' not found in any table"
    )
    without = PY4J.partition("Caused")[0]
    assert of(without).endswith(": org.apache.flink.table.api.ValidationException: SQL validation failed.")
