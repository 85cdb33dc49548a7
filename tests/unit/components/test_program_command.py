"""How programs of the user's are called."""

from __future__ import annotations

import sys
from pathlib import Path

from stream2gym.components.program_command import (
    consumer_arguments,
    custom_arguments,
    producer_arguments,
    program_command,
    program_environment,
)
from stream2gym.spec.model import Broker, Consumer, Experiment, Producer


def test_a_custom_program_gets_host_and_instance_as_published() -> None:
    kafka = Experiment()
    assert custom_arguments(Producer(type="CUSTOM", app="p.py"), "h2", 3, kafka) == ["h2", "3"]
    consumer = Consumer(type="CUSTOM", app="c.py", args=["x"])
    assert custom_arguments(consumer, "h2", 1, kafka) == ["h2", "1", "x"]


def test_a_custom_program_gets_only_its_host_with_rabbitmq_as_published() -> None:
    rabbitmq = Experiment(brokers=[Broker(on="h2", type="rabbitmq")])
    consumer = Consumer(type="CUSTOM", app="c.py", args=["x"])
    assert custom_arguments(consumer, "h2", 1, rabbitmq) == ["h2", "x"]


def test_a_program_in_place_of_the_stock_producer_gets_its_fifteen_arguments() -> None:
    part = Producer(type="ELTT", app="p.py", topic="t", file="d/x.csv", passes=4, rate="30/s", acks="all")
    arguments = producer_arguments(part, "h2", 1, 2, "7")
    assert arguments == [
        "h2", "1", "4", "30", "2", "2", "None", "16384", "0", "30000", "33554432", "7", "d/x.csv", "t", "ELTT",
    ]  # fmt: skip


def test_a_program_in_place_of_the_stock_consumer_gets_its_seven_arguments() -> None:
    part = Consumer(app="c.py", topics=["t"], fetch_wait="100 ms")
    assert consumer_arguments(part, "h4", 2, "1") == ["h4", "t", "1", "2", "1", "100", "10000"]


def test_python_programs_run_with_our_python_unless_they_name_their_own(tmp_path: Path) -> None:
    assert program_command(Producer(app="p.py"), tmp_path) == [sys.executable, str(tmp_path / "p.py")]
    named = Producer(app="p.py", python="venv/bin/python")
    assert program_command(named, tmp_path)[0] == str(tmp_path / "venv/bin/python")
    assert program_command(Producer(app="p.py", python="python3"), tmp_path)[0] == "python3"
    assert program_command(Producer(app="run"), tmp_path) == [str(tmp_path / "run")]


def test_the_environment_names_brokers_topics_and_the_run(tmp_path: Path) -> None:
    part = Producer(name="gen", app="p.py", env={"MINE": "1", "S2G_TOPICS": "other"})
    found = program_environment(part, 2, bootstrap="10.0.0.1:9092", topics=["a", "b"], run=tmp_path, S2G_TIME_S="5")
    assert found["S2G_BOOTSTRAP"] == "10.0.0.1:9092"
    assert found["S2G_INSTANCE"] == "2"
    assert found["S2G_TIME_S"] == "5"
    assert found["MINE"] == "1"
    assert found["S2G_TOPICS"] == "other"
