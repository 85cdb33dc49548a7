"""Real PyFlink programs on emulated hosts: a function in Python, exactly once through a kill; an example; errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.execution.drive_load import Load
from stream2gym.software.flink_python import ensure_flink_python
from stream2gym.wait import wait_until
from tests.support.flinkjobs import BESIDE_PY, COPY_PY, between_topics, on_a_cluster
from tests.support.play import play, star
from tests.system.test_flink import EXAMPLES, check_exactly_once, kill, part

pytestmark = [pytest.mark.long, pytest.mark.timeout(290)]

ENOUGH_S = 200.0


@pytest.fixture(scope="module", autouse=True)
def pyflink() -> None:
    """PyFlink in its environment, installed at the first use."""
    ensure_flink_python()


def test_a_killed_pyflink_program_goes_on_from_its_checkpoint_and_copies_every_message_exactly_once(
    tmp_path: Path,
) -> None:
    keys = between_topics("job.py", restart={"times": 1, "delay": "0 s"})
    run = play(keys, tmp_path, {"job.py": COPY_PY, "beside.py": BESIDE_PY}, at_t0=kill("job"))
    check_exactly_once(run)
    first, second = run.events("query-started", component="job")
    assert "restored" not in first
    assert second["restored"] >= 1
    assert max(run.samples("flink", "job.job", "records_in")) > 0


def test_a_pyflink_program_on_a_cluster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="runs in a mini-cluster alone"):
        play(on_a_cluster("job.py", parallelism=2), tmp_path, {"job.py": COPY_PY, "beside.py": BESIDE_PY})


def test_an_application_in_pyflink_gives_the_right_answer(tmp_path: Path) -> None:
    run = play(EXAMPLES / "word-count" / "flink-python.yaml", tmp_path)
    assert run.outcome.error is None
    (check,) = run.events("checked")
    assert check["compared"] > 0
    assert check["mismatches"] == 0


def test_pyflink_programs_that_cannot_work_are_explained_with_their_line(tmp_path: Path) -> None:
    programs = {
        "column.py": COPY_PY.replace('col("line")', 'col("lime")'),
        "raises.py": COPY_PY.replace("tables = ", "tables = [][1] or "),
        "syntax.py": COPY_PY.replace("def keep(line):", "def keep(line)"),
        "function.py": COPY_PY.replace("return beside.same(line)", "raise ValueError('a bad apple')"),
    }
    names = [name.removesuffix(".py") for name in programs]
    keys = between_topics() | {"consumers": [], "topology": star(2 + len(names))}
    keys["engines"] = [
        {"name": name, "on": f"h{number}", "type": "flink", "app": f"{name}.py", "ready": "start"}
        for number, name in enumerate(names, 3)
    ]

    def until_over(load: Load) -> None:
        parts = [part(load, name) for name in names]
        wait_until(lambda: all(one.over for one in parts), timeout_s=ENOUGH_S, reason="their ends")

    run = play(keys, tmp_path, programs | {"beside.py": BESIDE_PY}, at_t0=until_over)
    assert run.outcome.error is None
    died = {event["component"]: event["cause"] for event in run.events("died")}
    assert sorted(died) == sorted(names)
    at = {name: text[: text.index("execute_insert")].count("\n") + 1 for name, text in programs.items()}
    assert died["column"].startswith(f"Python error in column.py, line {at['column.py']}: ")
    assert "lime" in died["column"]
    assert died["raises"].endswith("IndexError: list index out of range")
    assert died["syntax"].startswith("Python error in syntax.py, line 11: SyntaxError")
    assert "ValueError: a bad apple" in died["function"]
