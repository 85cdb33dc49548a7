"""What a Spark program is started with, and how engines from elsewhere are found."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stream2gym.components.engine import EngineSetting
from stream2gym.components.mariadb import server_error, statements_of, text
from stream2gym.components.spark import local_slots, spark_properties, wanted_packages
from stream2gym.execution.packet_observation import observed_processes
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Engine, Experiment


def properties(master: str = "local[2]", **keys: Any) -> dict[str, str]:
    part = Engine.model_validate({"name": "job", "app": "folder/job.py", **keys})
    context: Any = SimpleNamespace(address_of=lambda _host: "10.0.0.3")
    software = SimpleNamespace(jars=(Path("a.jar"),), packages=(Path("b.jar"),))
    setting = EngineSetting(context, part, part.checked_settings, (), Path(), software, "job", "h3")
    return spark_properties(setting, master=master, slots=2, checkpoints="/c", events=Path("/e"))


def test_the_driver_lives_on_its_hosts_address() -> None:
    assert properties()["spark.driver.host"] == properties()["spark.driver.bindAddress"] == "10.0.0.3"


def test_the_event_log_is_one_plain_file() -> None:
    assert properties()["spark.eventLog.rolling.enabled"] == "false"
    assert properties()["spark.eventLog.dir"] == "file:///e"


def test_properties_of_the_experiment_come_last() -> None:
    asked = properties(config={"spark.sql.shuffle.partitions": 7, "spark.ui.enabled": True})
    assert (asked["spark.sql.shuffle.partitions"], asked["spark.ui.enabled"]) == ("7", "true")


def test_executors_of_a_cluster_find_the_connectors_on_their_class_path() -> None:
    assert properties("spark://10.0.0.1:7077")["spark.executor.extraClassPath"] == "a.jar:b.jar"
    assert "spark.executor.extraClassPath" not in properties()


def test_local_masters_say_how_many_tasks_run_at_once() -> None:
    assert [local_slots(master) for master in ("local", "local[1]", "local[4]", "local[3,2]")] == [1, 1, 4, 3]


def test_statements_of_a_file_are_told_apart() -> None:
    script = "-- tables\ncreate table a (x int);\ncreate table b (\n  y text default ';'\n);\n"
    assert statements_of(script) == ["create table a (x int)", "create table b (\n  y text default ';'\n)"]


def test_names_and_passwords_cannot_leave_their_quotes() -> None:
    assert text("it's\\") == "'it''s\\\\'"


def test_packages_are_resolved_before_the_run_whichever_way_they_are_asked_for() -> None:
    config = {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.12:3.2.1, g:b:2"}
    part = Engine.model_validate({"app": "job.py", "packages": ["g:a:1"], "config": config})
    assert wanted_packages(part) == ["g:a:1", "g:b:2"]
    assert "spark.jars.packages" not in properties(config=config)


def test_the_port_that_a_server_could_not_have_is_named() -> None:
    log = (
        "mariadbd starting as process 7\n[ERROR] something of an earlier start\n"
        "mariadbd starting as process 9\n[ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: "
        "Address already in use\n[ERROR] Aborting\n"
    )
    assert server_error(log, 3306) == "its port 3306 is taken by another program on the host"


def test_the_last_error_since_the_last_start_counts() -> None:
    log = "starting as process 7\n[ERROR] no space\n[ERROR] Aborting\n"
    assert server_error(log, 3306) == "no space"
    assert server_error(log + "mariadbd starting as process 8\n", 3306) == ""


def test_executors_say_that_they_belong_to_the_job_and_not_to_their_worker() -> None:
    assert properties("spark://10.0.0.1:7077")["spark.executorEnv.S2G_COMPONENT"] == "job"


def test_a_job_is_observed_on_its_host_and_on_those_of_all_workers() -> None:
    worker = {"type": "spark-worker", "master": "m"}
    hosts = ["h1", "h2", "h3"]
    experiment = Experiment.model_validate(
        {
            "topology": {"hosts": hosts, "switches": ["s1"], "links": [f"{host} -- s1" for host in hosts]},
            "engines": [
                {"name": "m", "on": "h1", "type": "spark-master"},
                {"name": "w1", "on": "h3", **worker},
                {"name": "w2", "on": "h2", **worker},
                {"name": "w3", "on": "h3", **worker},
                {"name": "job", "on": "h2", "app": "job.py", "master": "m", "observe": "wire"},
                {"name": "other", "on": "h1", "app": "job.py"},
            ],
        }
    )
    found = observed_processes(experiment, make_plan(experiment))
    assert [(one.component, one.instance, one.kind, one.host) for one in found] == [
        ("job", 1, "engine", "h2"),
        ("job", 2, "engine", "h3"),
    ]
