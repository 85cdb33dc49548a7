"""Flink: time to the first result of one SQL job and its memory, in the gym beside bare on loopback.

    ./s2g bench flink

Ours is the whole command. The peer is a broker on loopback and then the same job in a mini-cluster, from a script
with the flags of Flink's own scripts (G1, no start-up cache), one after the other. In turns, the best of each counts.
Software and start-up caches are there before the clock starts.
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
from typing import Any

from benchmarks import sparkjobs
from benchmarks.spark import between_topics, running, words
from benchmarks.table import Table
from stream2gym.components.flink_config import Ports, config_yaml, mini_config
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.flink_software import JVM_FLAGS, PROGRAM, FlinkSoftware
from stream2gym.software.flink_start_cache import make_start_caches
from stream2gym.spec.sql_statements import fill_in, pack_statements, split_statements

ROUNDS = 3
GOAL = 1.3
TIMEOUT_S = 180.0
COPY = """
CREATE TABLE lines (line STRING) WITH (
  'connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.group.id' = 'job', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw');
CREATE TABLE copies (line STRING) WITH (
  'connector' = 'kafka', 'topic' = 'out', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'format' = 'raw');
INSERT INTO copies SELECT UPPER(line) FROM lines;
"""


def main() -> int:
    ensure_kafka()
    make_start_caches(roles=["mini"])
    table = Table("Flink")
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(bare_first_result())
        ours.append(first_result())
    best, peer = (min(all_, key=lambda steps: sum(steps[0].values())) for all_ in (ours, bare))
    seconds, limit = sum(best[0].values()), sum(peer[0].values())
    table.add(
        "one broker, one SQL job: command to first result",
        f"{seconds:.1f} s ({seconds / limit:.2f} of bare; worst of {ROUNDS}: "
        f"{max(sum(steps.values()) for steps, _ in ours):.1f})",
        f"{GOAL:g} of bare",
        f"bare, one after the other, {limit:.1f} s",
        seconds <= GOAL * limit,
    )
    table.add("  where the seconds went", words(best[0]), "", words(peer[0]))
    table.add("  memory of the job (proportional)", f"{best[1]:.0f} MiB", "", f"bare {peer[1]:.0f} MiB")
    return table.finish()


def first_result() -> tuple[dict[str, float], float]:
    """Seconds of each step of the whole command, and the memory of the job in MiB."""
    steps = {"command": time.monotonic_ns()}
    keys = between_topics(rate="20/s", messages=None)
    keys["engines"] = [{"name": "job", "on": "h3", "type": "flink", "app": "job.sql"}]
    memory = 0.0
    with running(keys, {"job.sql": COPY}) as said:
        for word in said:
            match word.get("event"):
                case "phase":
                    steps[word["phase"]] = int(word["at_ns"])
                case "query-started":
                    steps["job"] = int(word["at_ns"])
            if word.get("numbers", {}).get("received"):
                steps["result"] = time.monotonic_ns()
                memory = max(memory_of(pid) for pid in flink_processes())
                break
    ends = {"program": "network", "network": "brokers", "broker and topics": "engines"}
    ends |= {"until the job runs": "job", "until it has its partitions": "load", "first result": "result"}
    took, at = {}, steps["command"]
    for name, step in ends.items():
        took[name], at = max(0.0, (steps[step] - at) / 1e9), max(at, steps[step])
    return took, memory


def bare_first_result() -> tuple[dict[str, float], float]:
    """The same without us."""
    began = time.monotonic()
    with sparkjobs.broker() as (address, kafka):
        ready = time.monotonic()
        with bare_job(address) as process:
            producer = kafka.Producer({"bootstrap.servers": address, "log_level": 0})
            consumer = kafka.Consumer(
                {"bootstrap.servers": address, "group.id": "see", "auto.offset.reset": "earliest", "log_level": 0}
            )
            consumer.subscribe(["out"])
            while True:
                producer.produce("in", b"word")
                producer.poll(0)
                message = consumer.poll(0.05)
                if message is not None and message.error() is None:
                    break
                if process.poll() is not None or time.monotonic() - ready > TIMEOUT_S:
                    sys.exit(f"the bare job came to nothing: {process.returncode}")
            done = time.monotonic()
            memory = memory_of(process.pid)
            consumer.close()
    return {"broker and topics": ready - began, "job to first result": done - ready}, memory


@contextlib.contextmanager
def bare_job(address: str) -> Iterator[subprocess.Popen[bytes]]:
    software = FlinkSoftware.ensure()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        config = mini_config(
            name="job", ports=Ports.of(9), parallelism=1, checkpoints=(folder / "checkpoints").as_uri(),
            checkpoint_every_s=1.0, restore=None, scratch=place,
        )  # fmt: skip
        (folder / "config.yaml").write_bytes(config_yaml(config, {}))
        statements = [fill_in(one, {"S2G_BOOTSTRAP": address}) for one in split_statements(COPY)]
        (folder / "statements").write_bytes(pack_statements(statements))
        opened = [flag for flag in JVM_FLAGS if flag.startswith("--add-opens")]
        argv = [
            software.java.java, "-Xmx512m", "-XX:+UseG1GC", *opened, f"-Ds2g.mini={place}",
            "-cp", os.pathsep.join(map(str, software.jars)), PROGRAM, "sql", f"{place}/statements",
        ]  # fmt: skip
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait(TIMEOUT_S)


def flink_processes() -> Iterator[int]:
    """The processes of ours that run a Flink job in a run."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found: Any = path.read_bytes().split(b"\0")
            if PROGRAM.encode() in found and b"-Ds2g.name=job.sql" in found:
                yield int(path.parent.name)


def memory_of(process: int) -> float:
    """The proportional memory of a process in MiB."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    sys.exit(main())
