"""What is wrong with Flink engines is told before anything runs, with the line of a statement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.errors import BadInput
from stream2gym.spec.loading import load_experiment
from tests.support.play import star

COPY = "CREATE TABLE a (v STRING) WITH ('connector' = 'datagen');\nINSERT INTO b SELECT v FROM a;\n"


def mistakes(folder: Path, engines: list[dict[str, Any]], **files: str) -> str:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    keys = {"s2g": 1, "name": "test", "topology": star(3), "engines": engines, "time": "1 s"}
    path = folder / "experiment.yaml"
    path.write_text(yaml.safe_dump(keys))
    try:
        load_experiment(path)
    except BadInput as error:
        return str(error)
    return ""


def job(**keys: Any) -> dict[str, Any]:
    return {"name": "job", "on": "h1", "type": "flink", "app": "job.sql", **keys}


def cluster(slots: int = 1, **keys: Any) -> list[dict[str, Any]]:
    worker = {"name": "w", "on": "h2", "type": "flink-taskmanager", "jobmanager": "job", "slots": slots}
    return [job(type="flink-jobmanager", **keys), worker]


def test_a_sound_job_and_a_sound_cluster_are_taken(tmp_path: Path) -> None:
    assert mistakes(tmp_path, [job()], job_sql=COPY) == ""
    assert mistakes(tmp_path, cluster(2, parallelism=2), job_sql=COPY) == ""
    assert mistakes(tmp_path, [job(app="job.py")], job_py="") == ""
    assert "runs in a mini-cluster alone" in mistakes(tmp_path, cluster(app="job.py"), job_py="")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;\n" + COPY, "line 1: nobody would see the rows of a SELECT"),
        ("CREATE TABLE a (v STRING);", "no INSERT statement"),
        ("\nINSERT INTO a SELECT 'x;", "line 2: a quote begins here and never ends"),
        ("SET 'parallelism.default' = '4';\n" + COPY, "line 1 of job.sql) needs 4 slots, and its mini-cluster has 1"),
    ],
)
def test_statements_that_cannot_become_a_job_are_told_with_their_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert expected in mistakes(tmp_path, [job()], job_sql=text)


@pytest.mark.parametrize(
    ("engines", "expected"),
    [
        ([job(app="job.txt")], "is no program of Flink"),
        ([job(main="Job")], "job.sql has no class to start"),
        ([job(packages=["org.apache.flink"])], "group:name:version"),
        ([job(restore="nowhere")], "no checkpoint of Flink"),
        ([job(observe=True)], "observe: wire"),
        ([job(slots=2)], "unknown key"),
        ([job(type="flink-jobmanager")], "no task manager belongs to it"),
        (cluster(1, parallelism=3), "parallelism 3 needs 3 slots, and its task managers have 1"),
        ([job(app="job.py", main="Job")], "job.py has no class to start"),
        ([job(app="job.py", python="nowhere/python")], "its Python 'nowhere/python' cannot be run"),
        ([job(python="python3")], "job.sql is no PyFlink program"),
        ([job(), {"name": "w", "on": "h2", "type": "flink-taskmanager", "jobmanager": "jb"}], "no flink-jobmanager"),
    ],
)
def test_each_mistake_is_told_before_anything_runs(
    tmp_path: Path, engines: list[dict[str, Any]], expected: str
) -> None:
    files = {"job_sql": COPY, "job_txt": "x", "job_py": "x"}
    assert expected in mistakes(tmp_path, engines, **files)
