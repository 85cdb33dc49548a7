"""What ``./s2g test`` runs for which words."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests import run as test_command
from tests.conftest import BESIDE_OTHERS
from tests.run import FAILED, MOST_UNSTEADY, NO_TESTS, SUITES, choose_unsteady, plan_steps, run_steps

TESTS = Path(__file__).resolve().parents[1]


def marks(step: list[str]) -> str:
    return step[step.index("-m") + 1] if "-m" in step else ""


def test_without_words_everything_is_checked_and_all_short_tests_run() -> None:
    *checks, software, side_by_side, alone = plan_steps([])
    assert [step[0] for step in checks] == ["ruff", "ruff", "mypy"]
    assert software == ["stream2gym", "setup"]
    assert (marks(side_by_side), marks(alone)) == ("not alone and not long", "alone and not long")
    assert "-n" in side_by_side
    assert "-n" not in alone


def test_all_adds_the_long_tests() -> None:
    assert [marks(step) for step in plan_steps(["--all"])[-2:]] == ["not alone", "alone"]


def test_the_checks_run_without_tests() -> None:
    assert [step[0] for step in plan_steps(["checks"])] == ["ruff", "ruff", "mypy"]


def test_suites_run_side_by_side_without_the_checks() -> None:
    _, side_by_side, alone = plan_steps(["unit", "contract"])
    assert side_by_side[-2:] == alone[-2:] == ["tests/unit", "tests/contract"]
    assert "-n" in side_by_side


def test_no_unit_test_is_looked_for_among_those_that_run_alone() -> None:
    [step] = plan_steps(["unit"])
    assert step[-1] == "tests/unit"


@pytest.mark.parametrize(
    ("words", "passed_on"),
    [
        (["unit", "-k", "routes"], ["tests/unit", "-k", "routes"]),
        (["tests/unit/test_units.py::test_a"], ["tests/unit/test_units.py::test_a"]),
        (["--lf"], ["--last-failed-no-failures=none", "--lf"]),
    ],
)
def test_anything_else_goes_to_pytest_which_runs_one_test_at_a_time(words: list[str], passed_on: list[str]) -> None:
    [step] = plan_steps(words)
    assert step[-len(passed_on) :] == passed_on
    assert marks(step) == "not long"
    assert "-n" not in step


def test_every_suite_is_a_word() -> None:
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    assert folders == set(SUITES)


def test_what_failed_is_not_remembered_in_the_clone() -> None:
    [step] = plan_steps(["--lf"])
    [cache_dir] = [word.removeprefix("cache_dir=") for word in step if word.startswith("cache_dir=")]
    assert Path(cache_dir).parent.name != TESTS.parent.name
    assert (Path(cache_dir).parent / "pyvenv.cfg").is_file()


def test_hooks_before_a_commit_fetch_nothing_and_run_what_is_here() -> None:
    config = yaml.safe_load((TESTS.parent / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert all(hook["entry"].startswith(".venv/bin/python -I -m ") for hook in hooks)
    named = [word for hook in hooks for word in hook["entry"].split() if word.startswith("tests/")]
    assert named
    assert [word for word in named if not (TESTS.parent / word).is_file()] == []


def test_every_file_that_may_run_beside_others_is_there() -> None:
    assert sorted(BESIDE_OTHERS - {path.stem for path in TESTS.rglob("test_*.py")}) == []


REAL_RUN = "tests/system/test_spark.py::test_a"


@pytest.fixture
def nothing_to_prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Software is there already."""
    monkeypatch.setattr(test_command, "prepare_beside", lambda steps: nullcontext(lambda: 0))


def test_a_wrong_audit_is_no_accident() -> None:
    assert choose_unsteady([REAL_RUN, "tests/oracle/test_cases.py::test_a"]) == []


def test_many_failures_are_no_accident() -> None:
    few = [f"{REAL_RUN}[{number}]" for number in range(MOST_UNSTEADY)]
    assert choose_unsteady(few) == few
    assert choose_unsteady([*few, REAL_RUN]) == []


@dataclass
class Steps:
    """Stands for running a step: the exit code of the tests side by side, and of the test that is run again."""

    first: int
    again: int
    run: list[list[str]] = field(default_factory=list)

    def __call__(self, step: list[str]) -> int:
        self.run.append(step)
        if step[-1] == REAL_RUN:
            return self.again
        [failures] = [word.removeprefix("--failures=") for word in step if word.startswith("--failures=")] or [""]
        if failures and "-n" in step:
            Path(failures).write_text(f"{REAL_RUN}\n", "utf-8")
            return self.first
        return 0


@pytest.mark.usefixtures("nothing_to_prepare")
@pytest.mark.parametrize(
    ("first", "again", "code"),
    [(FAILED, 0, 0), (FAILED, FAILED, 1), (FAILED, NO_TESTS, 1), (2, 0, 1), (0, FAILED, 0)],
)
def test_a_real_run_that_failed_runs_once_more_and_is_named(
    first: int, again: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(first, again)
    monkeypatch.setattr(test_command, "run_step", steps)
    named: list[str] = []

    assert run_steps([], tmp_path / "failures", named) == code
    assert named == ([REAL_RUN] if (first, again) == (FAILED, 0) else [])
    assert ("alone and not long" in [marks(step) for step in steps.run]) is (code == 0)


def test_without_the_software_no_test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(0, 0)
    monkeypatch.setattr(test_command, "run_step", steps)
    monkeypatch.setattr(test_command, "prepare_beside", lambda steps: nullcontext(lambda: 4))
    assert run_steps([], tmp_path / "failures", []) == 1
    assert [step[0] for step in steps.run] == ["ruff", "ruff", "mypy"]


def test_preparing_ends_with_checks_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_command, "PREPARE", ["timeit", "-n", "1", "-r", "1", "import time; time.sleep(60)"])
    began = time.monotonic()
    with test_command.prepare_beside([test_command.PREPARE]):
        pass
    assert time.monotonic() - began < 30


def test_a_chosen_test_that_fails_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_command, "run_step", lambda step: FAILED)
    assert run_steps(["unit", "-k", "routes"], tmp_path / "failures", []) == 1


@pytest.mark.usefixtures("nothing_to_prepare")
def test_failures_of_an_earlier_call_are_not_taken_for_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failures").write_text(f"{REAL_RUN}\n", "utf-8")
    monkeypatch.setattr(
        test_command, "run_step", lambda step: 0 if step[-1] == REAL_RUN else FAILED * (step[0] == "pytest")
    )
    named: list[str] = []

    assert run_steps([], tmp_path / "failures", named) == 1
    assert named == []


FAILING = """
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_shared(number):
    assert number == 1

def test_broken(nothing):
    pass
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1", "--dist", "loadfile"]])
def test_the_tests_that_failed_are_written_down_as_pytest_takes_them(workers: list[str], tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_failing.py").write_text(FAILING, "utf-8")
    shutil.copy(TESTS / "support" / "failures.py", tmp_path / "tests" / "conftest.py")
    command = [sys.executable, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--failures=failures", *workers]

    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "tests"], cwd=tmp_path, check=False, capture_output=True, text=True
    )

    assert done.returncode == FAILED, done.stdout + done.stderr
    failed = (tmp_path / "failures").read_text("utf-8").split()
    assert failed == ["tests/test_failing.py::test_broken", "tests/test_failing.py::test_shared[2]"]
