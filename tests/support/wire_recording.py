"""Records the packets of real clients of a real broker, with what the clients themselves say they did.

``python -m tests.support.wire_recording FOLDER [NAME ...]`` writes ``NAME.pcap`` and ``NAME.json`` for each scenario;
those in ``tests/data/wire`` were made by it. It captures on the loopback of the machine and so needs root.
"""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stream2gym.hosts.packet_socket import begin_to_hear, open_packet_socket
from stream2gym.packets.ring import RETIRE_MS, PacketRing, packets_of
from stream2gym.software.cache import Cache
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.loopback_broker import loopback_broker
from stream2gym.software.resolve import record_list

Said = dict[str, Any]
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
PAYLOAD = "a value that compresses well, because it is always the same but for its number "


class Pcap:
    """Captures the traffic of a port on this network namespace into a file."""

    def __init__(self, path: Path, port: int) -> None:
        self._ring = PacketRing(open_packet_socket(port))
        begin_to_hear(self._ring.sock)
        self._file = path.open("wb")
        self._file.write(struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 101))

        self._over = threading.Event()
        self._thread = threading.Thread(target=self._copy)
        self._thread.start()

    def close(self) -> None:
        time.sleep(4 * RETIRE_MS / 1000)
        self._over.set()
        self._thread.join()
        assert self._ring.dropped() == 0
        self._file.close()
        self._ring.sock.close()

    def _copy(self) -> None:
        while not self._over.wait(0.005):
            while self._ring.has_block():
                count, block = self._ring.block()
                for packet in packets_of(bytes(block), count):
                    seconds, rest = divmod(packet.at_ns, 1_000_000_000)
                    size = len(packet.data)
                    self._file.write(struct.pack("=IIII", seconds, rest, size, size) + packet.data)
                self._ring.give_back()


def make_topic(bootstrap: str, name: str, partitions: int = 2) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=1)])[name].result(30)


def _told(message: Any) -> list[Any]:
    return [message.partition(), message.offset(), message.key().decode(), message.value().decode()]


def librdkafka_produce(bootstrap: str, topic: str, count: int, **settings: Any) -> list[list[Any]]:
    """Messages with what their delivery reports say: partition, offset, key, value."""
    from confluent_kafka import Producer

    said: list[list[Any]] = []

    def report(error: Any, message: Any) -> None:
        assert error is None
        said.append(_told(message))

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, **settings})
    for number in range(count):
        producer.produce(topic, f"{PAYLOAD}{number}", key=f"k{number}", on_delivery=report)
    producer.flush(10)
    return said


def librdkafka_consume(bootstrap: str, topic: str, group: str, count: int, **settings: Any) -> list[list[Any]]:
    """Messages as the consumer handed them over: partition, offset, key, value."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
            "client.id": f"id-{group}", **settings,
        }
    )  # fmt: skip
    consumer.subscribe([topic])
    said: list[list[Any]] = []
    deadline = time.monotonic() + 20
    while len(said) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            said.append(_told(message))
    consumer.close()
    return said


def compressed(compression: str) -> Callable[[str], Said]:
    def record(bootstrap: str) -> Said:
        topic = f"t-{compression}"
        make_topic(bootstrap, topic)
        sent = librdkafka_produce(bootstrap, topic, 40, **{"compression.type": compression})
        received = librdkafka_consume(bootstrap, topic, f"g-{compression}", 40)
        return {"topic": topic, "group": f"g-{compression}", "sent": sent, "received": received}

    return record


def kafka_python(bootstrap: str) -> Said:
    """The other library: one session of fetches, topics by id, gzip."""
    from kafka import KafkaConsumer, KafkaProducer

    topic = "t-python"
    make_topic(bootstrap, topic)
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type="gzip", linger_ms=30)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id="g-python",
        auto_offset_reset="earliest",
        consumer_timeout_ms=3000,
    )
    sent: list[list[Any]] = []
    received: list[list[Any]] = []
    for part in range(3):
        futures = []
        for number in range(10 * part, 10 * part + 10):
            key, value = f"k{number}", f"{PAYLOAD}{number}"
            futures.append((producer.send(topic, value.encode(), key=key.encode()), key, value))
        producer.flush()
        for future, key, value in futures:
            told = future.get(10)
            sent.append([told.partition, told.offset, key, value])
        while len(received) < len(sent):
            for messages in consumer.poll(1000).values():
                received += [[m.partition, m.offset, m.key.decode(), m.value.decode()] for m in messages]
    producer.close()
    consumer.close()
    return {"topic": topic, "group": "g-python", "sent": sent, "received": received}


def transactions(bootstrap: str) -> Said:
    """A committed, an aborted and another committed transaction, read by two consumers of which one takes all."""
    from confluent_kafka import Producer

    topic = "t-transactions"
    make_topic(bootstrap, topic, 1)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "tx"})
    producer.init_transactions(20)
    sent: list[list[Any]] = []
    for part, is_committed in enumerate((True, False, True)):
        producer.begin_transaction()
        for number in range(5):
            value = f"{PAYLOAD}{part}.{number}"
            producer.produce(topic, value, key=f"k{number}")
            sent.append([is_committed, value])
        if is_committed:
            producer.commit_transaction(20)
        else:
            producer.flush(10)
            producer.abort_transaction(20)
    committed = librdkafka_consume(bootstrap, topic, "g-committed", 10, **{"isolation.level": "read_committed"})
    everything = librdkafka_consume(bootstrap, topic, "g-all", 15, **{"isolation.level": "read_uncommitted"})
    return {"topic": topic, "sent": sent, "committed": committed, "everything": everything}


def without_acks(bootstrap: str) -> Said:
    topic = "t-acks-0"
    make_topic(bootstrap, topic)
    return {"topic": topic, "sent": librdkafka_produce(bootstrap, topic, 20, acks=0)}


def java(compression: str, protocol: str) -> Callable[[str], Said]:
    """Kafka's own client: topics by id, fetch sessions, and with ``consumer`` the newer group protocol."""

    def record(bootstrap: str) -> Said:
        topic, group = f"t-java-{compression}", f"g-java-{compression}"
        make_topic(bootstrap, topic)
        kafka = ensure_kafka()
        with tempfile.TemporaryDirectory(prefix="classes") as classes:
            compile_java("Talk", Path(classes))
            words = [str(kafka.java.java), "-Xmx256m", "-cp", f"{classes}:{kafka.classpath}", "Talk"]
            words += [bootstrap, topic, compression, group, protocol, PAYLOAD]
            told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
        sent = [
            [int(line.split()[1]), int(line.split()[2]), f"k{line.split()[3]}", f"{PAYLOAD}{line.split()[3]}"]
            for line in told
            if line.startswith("sent ")
        ]
        received = []
        for line in told:
            if line.startswith("received "):
                _, partition, offset, key, value = line.split(" ", 4)
                received.append([int(partition), int(offset), key, value])
        return {"topic": topic, "group": group, "sent": sent, "received": received}

    return record


def compile_java(name: str, target: Path) -> None:
    """Put the classes of a program of ``tests/support/java`` into a folder."""
    kafka, cache = ensure_kafka(), Cache.here()
    locks = record_list("ecj-3.46.100", ["org.eclipse.jdt:ecj:3.46.100"], cache, kafka.java)
    source = Path(__file__).parent / "java" / f"{name}.java"
    words = [str(kafka.java.java), "-jar", str(cache.path("jars", locks.artifacts[0].path)), "-25", "-proc:none"]
    subprocess.run([*words, "-nowarn", "-cp", str(kafka.classpath), "-d", str(target), str(source)], check=True)


SCENARIOS: dict[str, Callable[[str], Said]] = {
    **{f"librdkafka-{name}": compressed(name) for name in COMPRESSIONS},
    "kafka-python": kafka_python,
    "java-none": java("none", "consumer"),
    "java-snappy": java("snappy", "classic"),
    "java-lz4": java("lz4", "consumer"),
    "java-zstd": java("zstd", "classic"),
    "transactions": transactions,
    "acks-0": without_acks,
}


@contextlib.contextmanager
def recording(path: Path, port: int) -> Iterator[None]:
    pcap = Pcap(path, port)
    try:
        yield
    finally:
        pcap.close()


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, loopback_broker(ensure_kafka(), Path(data)) as broker:
        for name in names or SCENARIOS:
            with recording(folder / f"{name}.pcap", broker.port):
                said = SCENARIOS[name](f"127.0.0.1:{broker.port}")
            (folder / f"{name}.json").write_text(json.dumps({"port": broker.port, **said}) + "\n", "utf-8")
            print(name, (folder / f"{name}.pcap").stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
