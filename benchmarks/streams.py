"""Kafka Streams: time to the first result and memory, in the gym beside the same program bare.

    ./s2g bench streams

Ours is the whole command. Bare is a broker and the program on loopback, one after the other, started by a script; the
program has Java's default flags. In turns, the best of each counts. Software and start-up caches are there before the
clock starts.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import sparkjobs
from benchmarks.spark import between_topics, running, words
from benchmarks.table import Table
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.streams_software import StreamsSoftware
from stream2gym.software.streams_start_cache import make_start_cache

ROUNDS = 3
GOAL = 1.3  # times bare
TIMEOUT_S = 180.0
UPPER = """
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

public class BenchUpper {
    public static void main(String[] words) {
        Properties settings = new Properties();
        settings.put("application.id", "upper");
        settings.put("bootstrap.servers", System.getenv("S2G_BOOTSTRAP"));
        settings.put("state.dir", System.getenv("S2G_STATE"));
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("in", Consumed.with(Serdes.String(), Serdes.String()))
            .mapValues(value -> value.toUpperCase())
            .to("out", Produced.with(Serdes.String(), Serdes.String()));
        new KafkaStreams(builder.build(), settings).start();
    }
}
"""
NAME = "BenchUpper"


def main() -> int:
    ensure_kafka()
    make_start_cache()
    table = Table("Kafka Streams")
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(bare_result())
        ours.append(own_result())
    (steps, memory), (peer, peer_memory) = (min(all_, key=lambda one: sum(one[0].values())) for all_ in (ours, bare))
    seconds, limit = sum(steps.values()), sum(peer.values())
    table.add(
        "one broker, one program: command to first result",
        f"{seconds:.1f} s (worst of {ROUNDS}: {max(sum(one.values()) for one, _ in ours):.1f})",
        f"{GOAL:g} of bare",
        f"bare, one after the other, {limit:.1f} s",
        seconds <= GOAL * limit,
    )
    table.add("  where the seconds went", words(steps), "", words(peer))
    table.add("  memory of the program (proportional)", f"{memory:.0f} MiB", "", f"bare {peer_memory:.0f} MiB")
    return table.finish()


def own_result() -> tuple[dict[str, float], float]:
    """Seconds of each step of the whole command until a message has come through, and the program's memory in MiB."""
    keys = between_topics(rate="20/s", messages=None)
    keys["engines"] = [{"name": "job", "on": "h3", "type": "kstreams", "app": f"{NAME}.java"}]
    steps = {"command": time.monotonic_ns()}
    with running(keys, {f"{NAME}.java": UPPER}) as said:
        for word in said:
            match word.get("event"):
                case "phase":
                    steps[word["phase"]] = int(word["at_ns"])
                case "query-started":
                    steps["streams"] = int(word["at_ns"])
            if word.get("numbers", {}).get("received"):
                steps["result"] = time.monotonic_ns()
                break
        memory = memory_mib()
    ends = {"program": "network", "network": "brokers", "broker and topics": "engines"}
    ends |= {"until the streams run": "streams", "until the load": "load", "first result": "result"}
    took, at = {}, steps["command"]
    for name, step in ends.items():
        took[name], at = (steps[step] - at) / 1e9, steps[step]
    return took, memory


def bare_result() -> tuple[dict[str, float], float]:
    """The same without us: seconds of each step, and the program's memory in MiB."""
    began = time.monotonic()
    with sparkjobs.broker() as (address, kafka):
        ready = time.monotonic()
        with started(address):
            producer = kafka.Producer({"bootstrap.servers": address, "log_level": 0})
            consumer = kafka.Consumer(
                {"bootstrap.servers": address, "group.id": "see", "auto.offset.reset": "earliest", "log_level": 0}
            )
            consumer.subscribe(["out"])
            producer.produce("in", b"message")
            producer.flush(TIMEOUT_S)
            message = consumer.poll(TIMEOUT_S)
            if message is None or message.error():
                sys.exit("nothing came through the bare program")
            took = {"broker and topics": ready - began, "java to first result": time.monotonic() - ready}
            memory = memory_mib()
            consumer.close()
    return took, memory


@contextlib.contextmanager
def started(address: str) -> Iterator[None]:
    """The program under a plain ``java``, compiled before."""
    software = StreamsSoftware.ensure()
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / f"{NAME}.java"
        source.write_text(UPPER)
        program = software.program(source, None)
        class_path = os.pathsep.join(map(str, (*software.jars[1:], program.jar)))
        environment = os.environ | {"S2G_BOOTSTRAP": address, "S2G_STATE": f"{place}/state"}
        argv = [software.java.java, "-cp", class_path, program.main]
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def memory_mib() -> float:
    """The proportional memory of the program that runs."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{NAME}-".encode() in (folder / "cmdline").read_bytes():
                rows = (folder / "smaps_rollup").read_text().splitlines()
                total += next(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return total / 1024


if __name__ == "__main__":
    sys.exit(main())
