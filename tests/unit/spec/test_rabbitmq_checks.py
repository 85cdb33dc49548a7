"""What an experiment with RabbitMQ may say, and what is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.spec.checks import experiment_checks
from stream2gym.spec.model import Experiment

RABBIT = {"type": "rabbitmq"}


def told(tmp_path: Path, **changes: Any) -> str:
    """What is told of a sound experiment that is changed."""
    keys: dict[str, Any] = {
        "topology": {"kind": "star", "hosts": 3},
        "brokers": [{"on": "h1", **RABBIT}, {"on": "h2", **RABBIT}],
        "topics": [{"name": "in", "queue": "classic", "replicas": 2, "leader": "h2", "config": {"x-max-length": 9}}],
        "producers": [{"name": "gen", "on": "h3", "topic": "in", "rate": "10/s", "client": {"heartbeat": 5}}],
        "consumers": [{"name": "see", "on": "h3", "topics": ["in"], "group": "g", "instances": 2}],
        "time": "10 s",
        "faults": [{"do": "kill", "on": "broker-h1", "at": "1 s"}],
    }
    experiment = Experiment.model_validate(keys | changes)
    return "\n".join(map(str, experiment_checks.check_experiment(experiment, tmp_path)))


def test_a_sound_experiment_has_no_mistakes(tmp_path: Path) -> None:
    assert told(tmp_path) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"brokers": [{"on": "h1", **RABBIT}, {"on": "h2"}]}, "kafka and rabbitmq brokers are mixed"),
        ({"brokers": [{"on": "h1", "controller": True, **RABBIT}, {"on": "h2", **RABBIT}]}, "has no controllers"),
        (
            {"brokers": [{"on": "h1", "partition_handling": "autoheal", **RABBIT}, {"on": "h2", **RABBIT}]},
            "in different ways",
        ),
        ({"topics": [{"name": "in", "partitions": 2}]}, "has no partitions"),
        ({"topics": [{"name": "in", "replicas": 3}]}, "wants 3 replicas"),
        ({"topics": [{"name": "in", "leader": "h3"}]}, "no broker runs on or is called 'h3'"),
        ({"topics": [{"name": "in", "config": {"retention.ms": 1}}]}, "'retention.ms' is no argument of a queue"),
        ({"topics": [{"name": "in", "queue": "stream"}]}, "group g cannot share the stream in"),
        ({"producers": [{"on": "h3", "topic": "in", "transactions": 5, "acks": "all"}]}, "transactions is a setting"),
        ({"producers": [{"on": "h3", "topic": "in", "compression": "lz4"}]}, "compression is a setting of Kafka's"),
        ({"producers": [{"on": "h3", "topic": "in", "linger": "5 ms"}]}, "linger is a setting of Kafka's client"),
        (
            {"producers": [{"on": "h3", "topic": "in", "keys": {"kind": "fixed", "value": "k" * 256}}]},
            "at most 255 bytes",
        ),
        ({"producers": [{"on": "h3", "topic": "in", "client": {"linger.ms": 1}}]}, "no setting of the AMQP client"),
        ({"consumers": [{"on": "h3", "topics": ["in"], "client": {"prefetch_count": 0}}]}, "no whole number above 0"),
        ({"consumers": [{"on": "h3", "topics": ["in"], "isolation": "read_committed"}]}, "isolation is a setting"),
        ({"consumers": [{"on": "h3", "topics": ["in"], "fetch_wait": "1 s"}]}, "fetch_wait is a setting"),
        ({"engines": [{"name": "job", "on": "h3", "app": "job.py"}]}, "job of type spark cannot read from RabbitMQ"),
        (
            {
                "stores": [{"name": "db", "on": "h3"}],
                "sinks": [{"name": "move", "on": "h3", "topics": ["in"], "store": "db", "table": "t"}],
            },
            "the sink move cannot read from RabbitMQ",
        ),
        ({"trace": [{"from": "in", "to": "in"}]}, "none reads from RabbitMQ"),
        ({"checks": [{"name": "right", "app": "c.py"}]}, "the check right needs the contents of topics"),
        ({"faults": [{"do": "delete-topic", "on": "in", "at": "1 s"}]}, "delete-topic acts on Kafka's logs"),
        ({"faults": [{"do": "kill", "on": "leader of in", "at": "1 s"}]}, "'leader of in' is not known"),
        ({"faults": [{"do": "kill", "on": "random of controller", "at": "1 s"}]}, "is not known with RabbitMQ"),
        (
            {"faults": [{"do": "kill", "on": "broker-h1", "when": "broker-h1 is controller"}]},
            "does not tell who has a role",
        ),
        (
            {"faults": [{"do": "restart", "on": "broker-h1", "at": "1 s", "data": "wipe"}]},
            "is not taken back by the others",
        ),
    ],
)
def test_what_rabbitmq_does_not_offer_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    (tmp_path / "job.py").write_text("")
    (tmp_path / "c.py").write_text("")
    assert words in told(tmp_path, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"brokers": [{"on": "h1", "partition_handling": "ignore"}], "topics": ["in"]},
            "only brokers of type rabbit",
        ),
        ({"brokers": [{"on": "h1"}], "topics": [{"name": "in", "queue": "quorum"}]}, "which Kafka has not"),
    ],
)
def test_kafka_has_none_of_its_settings(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    plain: dict[str, Any] = {"producers": [], "consumers": [], "faults": []}
    assert words in told(tmp_path, **plain, **changes)


def test_a_program_of_the_user_cannot_be_observed_from_packets_of_amqp(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("")
    program = {"name": "own", "on": "h3", "type": "CUSTOM", "app": "p.py", "observe": "wire"}
    assert "packets of AMQP are not decoded" in told(tmp_path, producers=[program])
