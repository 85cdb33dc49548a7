"""What goes wrong with Flink programs: one message or event with the cause, and the line of a statement."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.execution.drive_load import Load
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.java_compiler import compile_java
from stream2gym.wait import wait_until
from tests.support.flinkjobs import COPY, UPPER, between_topics, on_a_cluster
from tests.support.play import play, star
from tests.system.test_flink import part

ENOUGH_S = 240.0
COUNT = """CREATE TABLE counts (n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO counts SELECT COUNT(*) FROM lines;
"""


def test_a_java_file_that_does_not_compile_is_told_with_its_line_before_anything_starts(tmp_path: Path) -> None:
    broken = UPPER.replace("env.execute", "env.exekute")
    run = play(between_topics("Upper.java"), tmp_path, {"Upper.java": broken})
    assert isinstance(run.outcome.error, BadInput)
    line = broken[: broken.index("exekute")].count("\n") + 1
    assert f"Upper.java:{line}" in str(run.outcome.error)
    assert "exekute" in str(run.outcome.error)
    assert run.events("started") == []


def test_a_class_that_is_not_in_a_jar_is_told_with_those_that_are(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "job.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    run = play(between_topics("job.jar", main="demo.Job"), tmp_path)
    assert isinstance(run.outcome.error, BadInput)
    assert "there is no class demo.Job in it" in str(run.outcome.error)
    assert run.events("started") == []


@pytest.mark.parametrize(
    "program",
    [
        'class Small { static void main() { System.out.println("runs"); } }',
        'void main() { System.out.println("runs"); }',
    ],
    ids=["not public", "compact"],
)
def test_every_main_method_that_java_starts_is_started(tmp_path: Path, program: str) -> None:
    source = tmp_path / "Small.java"
    source.write_text(program)
    software = FlinkSoftware.ensure()
    command = software.command("mini", heap_mb=64, jars=[compile_java(source, ())])
    done = subprocess.run([*command, "class", "Small"], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("runs\n", 0), done.stderr


def old_jar(folder: Path) -> Path:
    """A program that was compiled against a class which Flink no longer has."""
    gone = folder / "ExecutionEnvironment.java"
    gone.write_text(
        "package org.apache.flink.api.java;\npublic class ExecutionEnvironment {\n"
        "public static ExecutionEnvironment getExecutionEnvironment() { return null; } }\n"
    )
    program = folder / "Old.java"
    program.write_text(
        "public class Old { public static void main(String[] args) {\n"
        "org.apache.flink.api.java.ExecutionEnvironment.getExecutionEnvironment().toString(); } }\n"
    )
    return compile_java(program, [compile_java(gone, [])])


def make_wide(parallelism: int) -> str:
    """The program with a parallelism of its own, which counts for the operators that are made after it was set."""
    made = "StreamExecutionEnvironment.getExecutionEnvironment();"
    return UPPER.replace(made, f"{made}\n        env.setParallelism({parallelism});")


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        pytest.param(
            "SELECT line FROM", "SELECT line FORM", ("line 9 (INSERT INTO copies ...)", "line 9, column"), id="parse"
        ),
        pytest.param(
            "SELECT line FROM", "SELECT row_number FROM", ("line 9", "row_number"), id="column",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "'connector' = 'kafka', 'topic' = 'out'", "'connector' = 'kafkaa'", ("line 9", "kafkaa"), id="connector",
            marks=pytest.mark.long,
        ),
    ],
)  # fmt: skip
def test_a_statement_that_cannot_work_ends_the_start_with_its_line(
    tmp_path: Path, right: str, wrong: str, words: tuple[str, ...]
) -> None:
    run = play(between_topics(), tmp_path, {"job.sql": COPY.replace(right, wrong)})
    assert run.outcome.state == "failed"
    for word in ("SQL error in job.sql", *words):
        assert word in str(run.outcome.error)


@pytest.mark.long
def test_each_program_that_cannot_work_is_explained(tmp_path: Path) -> None:
    # A checkpoint of a job of another shape: Flink takes one of the same shape, whatever the job does.
    counting = COPY[: COPY.index("CREATE TABLE copies")] + COUNT
    first = play(between_topics() | {"consumers": []}, tmp_path / "foreign", {"job.sql": counting})
    assert first.outcome.error is None
    (checkpoint,) = list((first.folder.work / "job" / "checkpoints").glob("*/chk-*/_metadata"))[-1:]
    jar = old_jar(tmp_path)
    (tmp_path / "old.jar").write_bytes(jar.read_bytes())
    programs = {
        "topic.sql": COPY.replace("'topic' = 'in'", "'topic' = 'nowhere'"),
        "wide.java": make_wide(3).replace("class Upper", "class wide"),
    }
    apps = {**{name.partition(".")[0]: name for name in programs}, "old": "old.jar", "other": "Upper.java"}
    keys = between_topics() | {"time": "1 s", "drain": "1 s", "consumers": [], "topology": star(2 + len(apps))}
    keys["engines"] = [
        {"name": name, "on": f"h{number}", "type": "flink", "app": app, "ready": "start"}
        for number, (name, app) in enumerate(apps.items(), 3)
    ]
    keys["engines"][-1]["restore"] = str(checkpoint.parent.relative_to(tmp_path))

    def until_over(load: Load) -> None:
        parts = [part(load, name) for name in apps if name != "wide"]
        wait_until(lambda: all(one.over for one in parts), timeout_s=ENOUGH_S, reason="their ends")
        wide = part(load, "wide")
        wait_until(lambda: wide.hopeless, timeout_s=ENOUGH_S, reason="the job that is too wide")
        assert "asks for 3 slots, and its mini-cluster has 1" in wide.cause()

    run = play(keys, tmp_path, programs | {"Upper.java": UPPER}, at_t0=until_over)
    assert run.outcome.error is None
    died = {event["component"]: event["cause"] for event in run.events("died")}
    words = {
        "topic": ("a topic that nobody made; there are: in, out",),
        "old": (
            "org.apache.flink.api.java.ExecutionEnvironment",
            "built for another version of Flink; this is 2.3.0",
        ),
        "other": ("the checkpoint is that of another job",),
    }
    assert sorted(died) == sorted(words)
    for name, expected in words.items():
        assert all(word in died[name] for word in expected), died[name]


@pytest.mark.long
def test_a_cluster_without_enough_slots_is_told_and_not_waited_for(tmp_path: Path) -> None:
    run = play(on_a_cluster("Upper.java", slots=2), tmp_path, {"Upper.java": make_wide(5)})
    assert run.outcome.state == "failed"
    assert "its job asks for 5 slots, and its task managers have 4" in str(run.outcome.error)


def test_the_software_is_there_and_has_the_class_that_runs_programs() -> None:
    program = FlinkSoftware.ensure().jars[-1]
    with zipfile.ZipFile(program) as jar:
        assert "stream2gym/FlinkProgram.class" in jar.namelist()
