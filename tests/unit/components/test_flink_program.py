"""The program of a Flink job, its configuration, the checkpoint that it goes on from, and why it died."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.clients import flink_python
from stream2gym.components.flink_config import (
    Ports,
    config_yaml,
    job_manager_config,
    mini_config,
    number_of_process,
    task_manager_config,
)
from stream2gym.components.flink_program import (
    PYTHON_DRIVER,
    FlinkProgram,
    explain_death,
    newest_checkpoint,
    prepare_program,
)
from stream2gym.errors import BadInput, CannotHere
from stream2gym.prepare import prepare_experiment
from stream2gym.software.fetch import silent
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.java import JavaRuntime
from stream2gym.spec.model import Engine
from stream2gym.spec.runnable import not_runnable
from tests.support.play import star

SOFTWARE = FlinkSoftware(JavaRuntime("/java", "/java/bin/java", "25.0.1"), (Path("/a.jar"), Path("/b.jar")))


def program_config(**changes: Any) -> dict[str, Any]:
    return {
        "name": "copy", "ports": Ports.of(0), "parallelism": 2, "checkpoints": "file:///c", "checkpoint_every_s": 1.5,
        "restore": None, "scratch": "/work", **changes,
    }  # fmt: skip


def test_a_mini_cluster_has_the_slots_that_its_job_asks_for_and_what_the_experiment_gives_comes_last() -> None:
    own = mini_config(**program_config())
    config = yaml.safe_load(config_yaml(own, {"parallelism.default": "1", "state.backend.type": "rocksdb"}))
    assert config["taskmanager.numberOfTaskSlots"] == "2"
    assert config["parallelism.default"] == "1"
    assert config["state.backend.type"] == "rocksdb"
    assert config["execution.checkpointing.interval"] == "1500 ms"
    assert config["restart-strategy.type"] == "disable"
    assert "execution.state-recovery.path" not in config


def test_without_a_time_there_are_no_checkpoints_and_a_restored_job_names_its_checkpoint() -> None:
    own = mini_config(**program_config(checkpoint_every_s=0.0, restore="file:///c/1/chk-3"))
    assert "execution.checkpointing.interval" not in own
    assert own["execution.state-recovery.path"] == "file:///c/1/chk-3"


def test_both_sides_of_a_cluster_agree_on_the_place_of_the_job_manager() -> None:
    ports = Ports.of(1)
    manager = job_manager_config(address="10.0.0.2", **program_config(ports=ports))
    worker = task_manager_config(
        address="10.0.0.3", manager="10.0.0.2", manager_ports=ports, ports=Ports.of(0), slots=2, heap_mb=384,
        scratch="/w",
    )  # fmt: skip
    for key in ("jobmanager.rpc.address", "jobmanager.rpc.port", "blob.server.port"):
        assert manager[key] == worker[key]
    assert worker["taskmanager.host"] == "10.0.0.3"
    assert manager["restart-strategy.type"] == "fixed-delay", "a job outlives its task managers"


def test_no_two_processes_of_a_run_have_the_same_ports() -> None:
    types = {"a": "flink", "job": "spark", "b": "flink-taskmanager", "c": "flink-jobmanager"}
    engines = [Engine(name=name, on="h1", type=type_) for name, type_ in types.items()]
    numbers = [number_of_process(name, engines) for name in ("a", "b", "c")]
    assert numbers == [0, 1, 2]
    used = [port for number in numbers for port in vars(Ports.of(number)).values()]
    assert len(set(used)) == len(used)


def test_the_jar_of_a_program_comes_last_on_the_class_path() -> None:
    command = SOFTWARE.with_packages([Path("/p.jar")]).command("mini", heap_mb=300, jars=[Path("/own.jar")])
    assert command[command.index("-cp") + 1] == "/a.jar:/b.jar:/p.jar:/own.jar"
    assert command[-1] == "stream2gym.FlinkProgram"
    assert "-Xmx300m" in command


def test_statements_are_packed_with_their_variables_and_a_java_program_is_started_by_its_class(
    tmp_path: Path,
) -> None:
    app = tmp_path / "job.sql"
    app.write_text("SET 'a' = '${WHERE}';\nINSERT INTO x SELECT 1;")
    program = FlinkProgram(SOFTWARE, app)
    assert program.statements({"WHERE": "here"}) == b"1 SET 'a' = 'here'\x002 INSERT INTO x SELECT 1\x00"
    places = {"statements": "/file", "folder": "/home", "gate": ""}
    assert program.arguments(["x"], **places) == ["sql", "/file"]
    with pytest.raises(BadInput, match=r"job\.sql:1: .*there is no variable WHERE"):
        program.statements({})
    compiled = FlinkProgram(SOFTWARE, app, Path("/own.jar"), "demo.Job")
    assert compiled.arguments(["x"], **places) == ["class", "demo.Job", "x"]
    assert compiled.config() == {}


def test_a_pyflink_program_is_started_by_the_driver_of_flink_in_its_own_interpreter(tmp_path: Path) -> None:
    program = FlinkProgram(SOFTWARE, tmp_path / "job.py", Path("/py.jar"), PYTHON_DRIVER, Path("/env/bin/python"))
    held = program.arguments(["x"], statements="/file", folder="/home", gate="/gate")
    assert held == ["class", PYTHON_DRIVER, "-py", flink_python.__file__, "/gate", "/home", f"{tmp_path}/job.py", "x"]
    again = program.arguments([], statements="/file", folder="/home", gate="")
    assert again[4:] == ["-", "/home", f"{tmp_path}/job.py"]
    assert program.jars == (Path("/py.jar"),)
    assert program.statements({}) == b""
    assert set(program.config().values()) == {"/env/bin/python"}
    assert program.environment()["PYTHONPATH"] == str(tmp_path)
    assert program.environment()["_python_worker_execution_mode"] == "process"


def test_a_pyflink_program_is_refused_where_there_is_no_pyflink_with_what_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S2G_CACHE", str(tmp_path / "cache"))
    (tmp_path / "job.py").write_text("import numpy\n")
    keys: dict[str, Any] = {
        "topology": star(1),
        "engines": [{"name": "job", "on": "h1", "type": "Flink", "app": "job.py"}],
    }
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump({"s2g": 1, "name": "x", **keys}))
    prepared = prepare_experiment(path)
    assert not_runnable(prepared.experiment) == []
    (obstacle,) = prepared.obstacles
    assert obstacle.what.startswith("engine job (job.py): a PyFlink program needs PyFlink 2.3.0")
    assert "s2g setup --flink-python" in obstacle.remedy
    keys["engines"][0]["python"] = sys.executable
    path.write_text(yaml.safe_dump({"s2g": 1, "name": "x", **keys}))
    prepared = prepare_experiment(path)
    assert prepared.obstacles == (), "the experiment has a Python of its own"
    with pytest.raises(CannotHere, match="has no PyFlink: ModuleNotFoundError"):
        prepare_program(prepared.experiment.engines[0], tmp_path, SOFTWARE, silent)


def test_a_job_goes_on_from_the_checkpoint_that_was_completed_last_whatever_its_number(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None
    for time, place in ((10, "old/chk-90"), (20, "new/chk-2"), (15, "new/chk-1")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "_metadata").write_bytes(b"x")
        os.utime(tmp_path / place / "_metadata", (time, time))
    (tmp_path / "new" / "chk-3").mkdir()
    assert newest_checkpoint(tmp_path) == tmp_path / "new" / "chk-2", "chk-3 was never completed"


@pytest.mark.parametrize(
    ("log", "told", "expected"),
    [
        ("x\nSQL error in job.sql, line 9: no\nCaused by: y.Error: z", "", "SQL error in job.sql, line 9"),
        ("Python error in job.py, line 3: no\n" + "\tat x.Y.z\n" * 80, "", "Python error in job.py, line 3: no"),
        ("Caused by: java.lang.NoClassDefFoundError: org/apache/flink/api/java/X", "", "another version of Flink"),
        ("java.lang.NoSuchMethodError: 'void org.apache.flink.A.b()'", "", "another version of Flink; this is 2.3.0"),
        ("", "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint x.", "of another job"),
        ("Terminating due to java.lang.OutOfMemoryError: Java heap space", "", "it has 512 MiB"),
        ("", "x.UnknownTopicOrPartitionException: no", "there are: in, out"),
        ("", "x.Exception: The transaction timeout is larger than the maximum value", "transaction.timeout.ms"),
        ("Caused by: java.lang.RuntimeException: a bad apple", "", "java.lang.RuntimeException: a bad apple"),
    ],
)  # fmt: skip
def test_a_death_is_explained_in_its_own_words_with_a_remedy(
    tmp_path: Path, log: str, told: str, expected: str
) -> None:
    path = tmp_path / "log"
    path.write_text(log)
    assert expected in explain_death(path, told, ["in", "out"], 512)


def test_the_statement_is_named_although_the_parser_lists_all_words_it_knows_after_it(tmp_path: Path) -> None:
    words = "".join(f'    "WORD{number}" ...\n' for number in range(1_000))
    said = "SQL error in job.sql, line 9 (INSERT INTO copies ...): SQL parse failed."
    (tmp_path / "log").write_text(f"{said}\nSqlParserException: Was expecting one of:\n{words}\t... 5 more\n")
    assert explain_death(tmp_path / "log", "", [], 512) == said


def test_a_pyflink_program_on_a_cluster_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import numpy\n")
    engines = [
        {"name": "job", "on": "h1", "type": "flink-jobmanager", "app": "job.py"},
        {"name": "w", "on": "h1", "type": "flink-taskmanager", "jobmanager": "job"},
    ]
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump({"s2g": 1, "name": "x", "topology": star(1), "engines": engines}))
    with pytest.raises(BadInput, match=r"job\.py is a PyFlink program, which runs in a mini-cluster alone"):
        prepare_experiment(path)
