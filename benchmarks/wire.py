"""What observing programs from their packets costs: CPU, memory and disk of the capture and of the decoder.

    ./s2g bench wire [SECONDS]        (as root: packets of the loopback are captured)

One bare broker on loopback, a producer and a consumer with confluent-kafka. Both are observed as a run observes them;
beside it the same load without observation. Every message must be on record at its place in the log.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import Table
from stream2gym.hosts.packet_socket import open_packet_socket
from stream2gym.own_python import own_python
from stream2gym.packets.decode import DecodeConfig, ObservedProcess, ProcessSummary
from stream2gym.packets.spool import spooled_bytes
from stream2gym.record.journal import ACKED, Reader
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.loopback_broker import loopback_broker

RATE = 20_000
PARTITIONS = 3
HOST = "loopback"
PRODUCER = """
import sys, time
from confluent_kafka import Producer
bootstrap, topic, rate, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "acks": 1})
began, wanted, sent = time.monotonic(), int(rate * seconds), 0
while sent < wanted:
    due = min(wanted, int((time.monotonic() - began) * rate) + 1)
    while sent < due:
        producer.produce(topic, b"%0100d" % sent)
        sent += 1
    producer.poll(0.001)
producer.flush(60)
print(time.monotonic() - began)
"""
CONSUMER = """
import sys
from confluent_kafka import Consumer
bootstrap, topic, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3])
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g-" + topic, "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
got = 0
while got < wanted:
    got += sum(message.error() is None for message in consumer.consume(1000, 0.2))
consumer.close()
"""


@dataclass
class Used:
    """What a process took."""

    cpu_s: float
    memory_mb: float


class Observed:
    """The capture and the decoder, as a run starts them."""

    def __init__(self, folder: Path, port: int) -> None:
        self.raw = folder / "raw"
        self.spool = folder / "spool"
        for path in (self.raw, self.spool):
            path.mkdir()
        traffic, openings = open_packet_socket(port), open_packet_socket(port, only_openings=True)
        net = os.stat("/proc/self/ns/net").st_ino
        tap = {"traffic": traffic.fileno(), "openings": openings.fileno(), "net": net}
        sockets = [traffic.fileno(), openings.fileno()]
        self._capture = self._start("capture", {"spool": str(self.spool), "hosts": {HOST: tap}}, sockets)
        clients = (ObservedProcess("gen", 1, "producer", HOST), ObservedProcess("see", 1, "consumer", HOST))
        config = DecodeConfig(str(self.spool), str(self.raw), port, (HOST,), clients)
        self._decode = self._start("decode", config.to_json(), [])
        traffic.close()
        openings.close()
        assert self._capture.stdout is not None
        assert self._capture.stdout.readline()

    def finish(self) -> tuple[Used, Used, float, list[ProcessSummary]]:
        """What the capture and the decoder took, how long decoding went on, and what was decoded."""
        began = time.monotonic()
        captured_mb = _peak_mb(self._capture.pid)
        assert self._capture.stdin is not None
        self._capture.stdin.close()
        captured = self._end(self._capture, captured_mb)
        decoded_mb = 0.0
        while spooled_bytes(self.spool):
            decoded_mb = _peak_mb(self._decode.pid)
            time.sleep(0.02)
        assert self._decode.stdout is not None
        found = [ProcessSummary.from_json(one) for one in json.loads(self._decode.stdout.read())]
        decoded = self._end(self._decode, decoded_mb)
        return captured, decoded, time.monotonic() - began, found

    def _start(self, module: str, config: dict[str, Any], sockets: list[int]) -> subprocess.Popen[bytes]:
        path = self.spool.parent / f"{module}.json"
        path.write_text(json.dumps(config))
        words = own_python("-m", f"stream2gym.packets.{module}", str(path))
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=sockets)

    @staticmethod
    def _end(process: subprocess.Popen[bytes], memory_mb: float) -> Used:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return Used(usage.ru_utime + usage.ru_stime, memory_mb)


def _peak_mb(pid: int) -> float:
    """The most that a process had in memory. What wait4 tells includes the process that started it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def load(bootstrap: str, topic: str, seconds: float, spool: Path | None = None) -> tuple[float, int]:
    """Drive the load; returns how long the producer took, and how many bytes waited for the decoder at most."""
    messages = int(RATE * seconds)

    def start(name: str, program: str, *words: str) -> subprocess.Popen[str]:
        env = {**os.environ, "S2G_COMPONENT": name, "S2G_INSTANCE": "1"}
        argv = [sys.executable, "-c", program, bootstrap, topic, *words]
        return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True)

    consumer = start("see", CONSUMER, str(messages))
    producer = start("gen", PRODUCER, str(RATE), str(seconds))
    most = 0
    while consumer.poll() is None:
        most = max(most, spooled_bytes(spool) if spool else 0)
        time.sleep(0.05)
    took, _ = producer.communicate()
    assert producer.returncode == consumer.returncode == 0
    return float(took), most


def make_topic(bootstrap: str, name: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, num_partitions=PARTITIONS, replication_factor=1)])[name].result(30)


def places(path: Path) -> set[tuple[int, int]]:
    return {(row["partition"], row["offset"]) for row in Reader(path).rows() if row.get("status", ACKED) == ACKED}


def main() -> int:
    seconds = next((float(word) for word in sys.argv[1:] if not word.startswith("-")), 10.0)
    if os.geteuid() != 0:
        print("s2g: this benchmark captures on the loopback: run it as root", file=sys.stderr)
        return 4
    table = Table("Observing programs from their packets")
    messages = int(RATE * seconds)
    with tempfile.TemporaryDirectory() as name, loopback_broker(ensure_kafka(), Path(name) / "broker") as broker:
        bootstrap = f"127.0.0.1:{broker.port}"
        for topic in ("plain", "observed"):
            make_topic(bootstrap, topic)
        plain_s, _ = load(bootstrap, "plain", seconds)
        observed = Observed(Path(name), broker.port)
        took_s, most = load(bootstrap, "observed", seconds, observed.spool)
        captured, decoded, rest_s, found = observed.finish()
        sent, received = places(observed.raw / "sent.gen.1.1.journal"), places(_received(observed.raw))
    table.add(
        f"{RATE:,} messages/s of 100 B for {seconds:g} s, kept", f"{messages / took_s:,.0f}/s",
        "within 1 % of without", f"without observing {messages / plain_s:,.0f}/s",
        took_s <= 1.01 * plain_s + 0.05,
    )  # fmt: skip
    complete = len(sent) == len(received) == messages and sent == received
    problems = {why: times for one in found for why, times in one.problems.items()}
    table.add(
        "on record", f"{len(sent):,} sent, {len(received):,} received", "all, at the same places",
        f"problems: {problems or 'none'}", complete and not problems,
    )  # fmt: skip
    table.add(
        "capture: CPU a message, memory", f"{captured.cpu_s / messages * 1e6:.2f} us, {captured.memory_mb:.0f} MB",
        "at most 2 us", "sent and received once each", captured.cpu_s / messages <= 2e-6,
    )  # fmt: skip
    table.add(
        "decoder: CPU a message, memory", f"{decoded.cpu_s / messages * 1e6:.2f} us, {decoded.memory_mb:.0f} MB",
        "at most 40 us", "at the lowest priority", decoded.cpu_s / messages <= 40e-6,
    )  # fmt: skip
    table.add("waited for the decoder at most", f"{most / 1e6:.0f} MB", "", f"{rest_s:.1f} s after the load")
    return table.finish()


def _received(raw: Path) -> Path:
    """The journal of the group that the consumer named, which is not the one it was given."""
    return max(raw.glob("received.see.1.*.journal"), key=lambda path: path.stat().st_size)


if __name__ == "__main__":
    sys.exit(main())
