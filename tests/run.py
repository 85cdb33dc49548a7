"""What ``./s2g test`` does.

    ./s2g test                     format, lint and types, then all tests but the long ones: what CI runs
    ./s2g test --all               with the long ones
    ./s2g test checks              format, lint and types alone
    ./s2g test unit contract       whole suites: folders of tests/
    ./s2g test unit -k routes      part of a suite, one test at a time; whatever else pytest understands
    ./s2g test --lf                what failed last time

Before real runs, and beside the checks, the software that they need is fetched, and start-up caches are made for this
environment: every run analyses its record in a JVM that takes a third longer without one.
Tests run side by side, one file on each of two workers, which keep two cores busy. Those marked
``alone`` run afterwards one at a time: they measure time, or look at everything that the machine holds. Which tests
failed is remembered in the environment, beside pytest.

The machine may be busy with other things, so that a test now and then misses a deadline. Where whole suites run and
no more than ``MOST_UNSTEADY`` tests failed, these run once more, alone. Those that pass then are named at the end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ["src", "tests", "benchmarks", "examples", "website"]
CHECKS = "checks"
SUITES = ("unit", "contract", "oracle", "proof", "witness", "system")
WORKERS = "2"
# Exit codes of pytest: some tests failed, and no test was chosen.
FAILED = 1
NO_TESTS = 5
MOST_UNSTEADY = 3

Step = list[str]
PREPARE: Step = ["stream2gym", "setup"]


def main() -> int:
    unsteady: list[str] = []
    code = run_steps(sys.argv[1:], Path(sys.prefix) / "failed_tests", unsteady)
    if unsteady:
        print("./s2g test: failed at first and passed when run again: " + " ".join(unsteady), file=sys.stderr)
    return code


def run_steps(arguments: list[str], failures: Path, unsteady: list[str]) -> int:
    """Run the steps up to the first that fails. Tests that passed only when run again are added to ``unsteady``."""
    steps = plan_steps(arguments)
    with prepare_beside(steps) as prepared:
        return run_in_turn(steps, arguments, prepared, failures, unsteady)


def run_in_turn(
    steps: list[Step], arguments: list[str], prepared: Callable[[], int], failures: Path, unsteady: list[str]
) -> int:
    """Run steps one after the other. ``prepared`` waits for PREPARE, which goes on beside the steps before it."""
    codes = []
    for step in steps:
        is_pytest = step[0] == "pytest"
        failures.unlink(missing_ok=True)  # of an earlier step, or of an earlier call
        command = [*step, f"--failures={failures}"] if is_pytest else step
        code = prepared() if step == PREPARE else run_step(command)
        if is_pytest and code == FAILED and names_whole_suites(arguments):
            again = choose_unsteady(failures.read_text("utf-8").splitlines() if failures.exists() else [])
            if again and run_step(start_pytest(chosen=again)) == 0:
                unsteady.extend(again)
                code = 0
        if code not in (0, NO_TESTS):
            print(f"./s2g test: failed in: {' '.join(step)}", file=sys.stderr)
            return 1
        codes.append(code)
    return 0 if 0 in codes else NO_TESTS


@contextmanager
def prepare_beside(steps: list[Step]) -> Iterator[Callable[[], int]]:
    """Begin PREPARE, if it is one of the steps. Gives what waits for it and returns its exit code; it ends with the
    block."""
    if PREPARE not in steps:
        yield lambda: 0
        return
    process = subprocess.Popen([sys.executable, "-I", "-m", *PREPARE], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield process.wait
    finally:
        process.terminate()
        process.wait()


def choose_unsteady(failed: list[str]) -> list[str]:
    """Of the tests that failed, those to run again: all, or none where too many failed.

    What the audit says about a made-up history does not depend on the machine, so a failure there is one.
    """
    if len(failed) > MOST_UNSTEADY or any(test.startswith("tests/oracle/") for test in failed):
        return []
    return failed


def plan_steps(arguments: list[str]) -> list[Step]:
    """The modules to run one after the other, each with its arguments; the first that fails is the last."""
    short = [] if "--all" in arguments else ["not long"]
    words = [word for word in arguments if word != "--all"]
    suites = [f"tests/{word}" for word in words if word in SUITES]
    if not names_whole_suites(words):
        chosen = [f"tests/{word}" if word in SUITES else word for word in words]
        return [start_pytest(*short, chosen=[*ask_for_failed(words), *chosen])]
    checks = plan_checks() if not words or CHECKS in words else []
    if words and not suites:
        return checks
    # The tests of a file share what is costly to make, and stay on one worker. Files come in the order of the suites,
    # real runs before unit tests, so that both workers have something to do up to the end.
    side_by_side = ["-n", WORKERS, "--dist", "loadfile", "--no-loadscope-reorder"]
    together = start_pytest("not alone", *short, chosen=[*side_by_side, *suites])
    if set(suites) == {"tests/unit"}:  # which start nothing real, and of which none runs alone
        return [*checks, together]
    return [*checks, PREPARE, together, start_pytest("alone", *short, chosen=suites)]


def names_whole_suites(arguments: list[str]) -> bool:
    return all(word in ("--all", CHECKS, *SUITES) for word in arguments)


def plan_checks() -> list[Step]:
    return [["ruff", "format", "--check", "--quiet", *CODE], ["ruff", "check", "--quiet", *CODE], ["mypy"]]


def start_pytest(*marks: str, chosen: list[str]) -> Step:
    """Pytest for the tests with all these marks. What failed is remembered outside the clone's own files."""
    colour = "--color=yes" if sys.stdout.isatty() else "--color=no"
    memory = ["-o", f"cache_dir={Path(sys.prefix) / 'pytest_cache'}"]
    where_the_time_went = ["--durations=30", "--durations-min=10"]
    return ["pytest", colour, *memory, *where_the_time_went, *(["-m", " and ".join(marks)] if marks else []), *chosen]


def ask_for_failed(words: list[str]) -> Step:
    """Where nothing failed last time, pytest would run everything."""
    return ["--last-failed-no-failures=none"] if {"--lf", "--last-failed"} & set(words) else []


def run_step(step: Step) -> int:
    return subprocess.run([sys.executable, "-I", "-m", *step], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
