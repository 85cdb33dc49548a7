"""One real broker on loopback, without an emulated network: start-up caches and tests need one."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import StartFailed
from stream2gym.software import child_process
from stream2gym.software.kafka_config import broker_defaults, properties_text
from stream2gym.software.kafka_software import KafkaSoftware
from stream2gym.software.kafka_storage import format_folder, new_id
from stream2gym.wait import wait_until

START_TIMEOUT_S = 60.0
REPLY_TIMEOUT_S = 30.0
MESSAGES = 20
STOP_TIMEOUT_S = 120.0  # a rehearsal writes its start-up cache when it ends, which takes seconds


@dataclass(frozen=True)
class LoopbackBroker:
    """A running broker that listens on ``port`` of loopback."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path


@contextlib.contextmanager
def loopback_broker(software: KafkaSoftware, folder: Path, flags: Sequence[str] = ()) -> Iterator[LoopbackBroker]:
    """Start a broker with its data below ``folder``, wait for its port, and stop it orderly when the block ends."""
    port, controller = free_ports(2)
    format_folder(software, folder / "data", cluster_id=new_id(), node_id=1)
    config = folder / "broker.properties"
    properties = broker_defaults(1) | {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(folder / "data"),
    }
    config.write_text(properties_text(properties), "ascii")
    java, *rest = software.command(config)
    log = folder / "broker.log"
    process = child_process.start([java, *flags, *rest], log, folder)
    try:
        wait_until(
            lambda: process.poll() is not None or is_open(port),
            timeout_s=START_TIMEOUT_S,
            reason=f"the broker's port; its log is {log}",
        )
        if process.poll() is not None:
            words = log.read_text("utf-8", errors="replace")[-1500:]
            raise StartFailed(f"the broker ended with code {process.returncode}:\n{words}")
        yield LoopbackBroker(process, port, log)
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_TIMEOUT_S)
    finally:
        child_process.end(process)


def exercise(broker: LoopbackBroker) -> None:
    """Make a topic, send a few messages and read them in a group, as every broker of a run will do first."""
    from confluent_kafka import Consumer, KafkaException, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    address: dict[str, str | int | float | bool] = {
        "bootstrap.servers": f"127.0.0.1:{broker.port}",
        "log_level": 0,  # a coordinator that is still loading is no news
    }
    admin = AdminClient(address)
    producer = Producer({**address, "acks": "all", "enable.idempotence": True})
    consumer = Consumer({**address, "group.id": "warm", "auto.offset.reset": "earliest"})
    try:
        for made in admin.create_topics([NewTopic("warm", 2, 1)]).values():
            made.result(REPLY_TIMEOUT_S)
        for number in range(MESSAGES):
            producer.produce("warm", b"%d" % number)
        if producer.flush(REPLY_TIMEOUT_S):
            raise StartFailed("the broker on loopback acknowledged no message")
        consumer.subscribe(["warm"])
        if len(consumer.consume(MESSAGES, REPLY_TIMEOUT_S)) < MESSAGES:
            raise StartFailed("the broker on loopback did not give back what it had acknowledged")
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        raise StartFailed(f"the broker on loopback refused: {error}") from error
    finally:
        consumer.close()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
