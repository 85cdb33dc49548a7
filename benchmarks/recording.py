"""What recording costs: offered against kept rate, CPU and memory of a client, sealing of a large record.

    ./s2g bench recording [SECONDS]

One bare broker on loopback. A producer is run as a run would run it, and beside it the same producer that records
nothing (no rows, no header, no delivery reports): the difference is the price of the record. Both are run in turns
and the best of each counts, so that what else the machine does disturbs less.
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
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import ACKED, HEADER_BYTES, SENT, Identity, Journal, Reader
from stream2gym.record.seal import seal
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.loopback_broker import loopback_broker

RATE = 50_000
ROUNDS = 4
PARTITIONS = 3
BIG = 10_000_000
MEMORY_MB = 30


@dataclass
class Cost:
    """What a client took."""

    cpu_s: float
    memory_mb: float  # most that it ever had
    said: dict[str, Any]


def main() -> int:
    seconds = next((float(word) for word in sys.argv[1:] if not word.startswith("-")), 5.0)
    table = Table("Recording")
    with (
        tempfile.TemporaryDirectory() as name,
        loopback_broker(ensure_kafka(), Path(name)) as broker,
    ):
        folder = Path(name)
        bootstrap = f"127.0.0.1:{broker.port}"
        make_topic(bootstrap)
        producers(table, folder, bootstrap, seconds)
        consumer(table, folder, bootstrap, seconds)
    sealing(table)
    return table.finish()


def producers(table: Table, folder: Path, bootstrap: str, seconds: float) -> None:
    path = folder / "sent.gen.1.1.journal"
    common = {
        "bootstrap": bootstrap, "name": "gen", "topics": {"in": 1}, "rate": RATE, "size": {"mean": 100},
        "start": "now",
    }  # fmt: skip
    # What a process costs before its first message is not the price of a message.
    idle = run(folder, "producer", common | {"messages": 1, "journal": str(path)}).cpu_s
    recorded, plain, rounds = [], [], []
    for _ in range(ROUNDS):
        recorded.append(run(folder, "producer", common | {"duration_s": seconds, "journal": str(path)}))
        rounds.append(kept_rate(path))
        plain.append(run(folder, "producer", common | {"duration_s": seconds}))
    best, late_ms, rows, acked = max(rounds)
    table.add(
        f"{RATE:,} messages/s of 100 B offered: kept",
        f"{best:,.0f}/s, {acked:,} of {rows:,} acked",
        "within 1 %",
        f"worst round {min(rounds)[0]:,.0f}/s; sent after due, p99: {late_ms:.2f} ms",
        abs(best / RATE - 1) <= 0.01 and rows == int(RATE * seconds),
    )
    messages = RATE * seconds
    full = (min(cost.cpu_s for cost in recorded) - idle) / messages * 1e6
    bare = (min(cost.cpu_s for cost in plain) - idle) / messages * 1e6
    table.add(
        "CPU a message, recorded",
        f"{full:.2f} us ({full - bare:+.2f} us)",
        "at most 5 us more than without",
        f"without recording {bare:.2f} us",
        full - bare <= 5,
    )
    most = min(cost.memory_mb for cost in recorded)
    table.add(
        f"memory of a producer at {RATE:,}/s, at most", f"{most:.1f} MB", f"{MEMORY_MB} MB",
        f"without recording {min(cost.memory_mb for cost in plain):.1f} MB", most <= MEMORY_MB,
    )  # fmt: skip


def kept_rate(path: Path) -> tuple[float, float, int, int]:
    """What a record says: messages a second, p99 of sent after due in ms, rows, acknowledged."""
    rows = list(Reader(path).rows())
    late = sorted((row["sent_ns"] - row["due_ns"]) / 1e6 for row in rows)
    rate = (len(rows) - 1) / (rows[-1]["sent_ns"] - rows[0]["sent_ns"]) * 1e9
    return rate, late[len(late) * 99 // 100], len(rows), sum(row["status"] == ACKED for row in rows)


def consumer(table: Table, folder: Path, bootstrap: str, seconds: float) -> None:
    """A consumer that follows the same load."""
    config = {
        "bootstrap": bootstrap, "name": "see", "group": "bench", "topics": ["in"], "start_from": "latest",
        "journal": str(folder / "received.see.1.1.journal"),
    }  # fmt: skip
    client = start(folder, "consumer", config)
    assert client.stdout is not None
    for line in client.stdout:
        if b'"assigned"' in line:
            break
    load = {
        "bootstrap": bootstrap, "name": "gen", "topics": {"in": 1}, "rate": RATE, "size": {"mean": 100},
        "start": "now", "duration_s": seconds,
    }  # fmt: skip
    run(folder, "producer", load)
    wanted = int(RATE * seconds)
    for line in client.stdout:
        if json.loads(line[4:]).get("received", 0) >= wanted:
            break
    memory_mb = peak_mb(client.pid)
    client.terminate()
    cost = ended(client)
    table.add(
        f"a consumer of {RATE:,} messages/s", f"{cost.cpu_s / wanted * 1e6:.2f} us, {memory_mb:.1f} MB",
        f"all of them, {MEMORY_MB} MB", f"{cost.said['received']:,} of {wanted:,} received",
        cost.said["received"] == wanted and memory_mb <= MEMORY_MB,
    )  # fmt: skip


def sealing(table: Table) -> None:
    """A large record becomes a table, in a process of its own so that its memory can be seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder.create("big", seed=1, out=Path(name) / "run")
        folder.set_t0(1)
        big_record(folder)
        size = sum(path.stat().st_size for path in folder.raw.iterdir())
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            seal(folder)
            os._exit(0)
        _, status, usage = os.wait4(pid, 0)
        took, memory = time.monotonic() - began, usage.ru_maxrss / 1024
        written = (folder.data / "sent.parquet").stat().st_size
    table.add(
        f"sealing {BIG:,} rows", f"{took:.1f} s, {memory:.0f} MB", "below 1000 MB",
        f"{size / 1e6:.0f} MB of journal, {written / 1e6:.0f} MB of Parquet", status == 0 and memory < 1000,
    )  # fmt: skip


def big_record(folder: RunFolder) -> None:
    """A journal of many rows: a real chunk, then the same chunk again and again."""
    path, identity = folder.new_journal("sent", "gen")
    rows = 1 << 16
    journal = Journal(path, SENT, Identity(identity.name))
    topic = journal.number("in")
    for n in range(rows):
        journal.append(n * 20_000, n * 20_000 + 700, 0, n * 0x9E3779B97F4A7C15 % (1 << 62), 100, topic, 1)
        journal.amend(n, n % PARTITIONS, n // PARTITIONS, n * 20_000 + 5_000_000, 0, ACKED)
    journal.close()
    with path.open("rb") as file:
        file.seek(HEADER_BYTES)
        block = file.read()
    with path.open("ab") as file:
        for _ in range(BIG // rows - 1):
            file.write(block)
        file.write(block[: BIG % rows * SENT.row_bytes])


def make_topic(bootstrap: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("in", num_partitions=PARTITIONS, replication_factor=1)])["in"].result(30)


def start(folder: Path, kind: str, config: dict[str, Any]) -> subprocess.Popen[bytes]:
    path = folder / f"{kind}.json"
    path.write_text(json.dumps(config))
    command = [sys.executable, "-m", f"stream2gym.clients.{kind}", str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def ended(client: subprocess.Popen[bytes]) -> Cost:
    assert client.stdout is not None
    said, memory_mb = [], 0.0
    for line in client.stdout:
        said.append(json.loads(line[4:]))
        memory_mb = max(memory_mb, peak_mb(client.pid))
    _, status, usage = os.wait4(client.pid, 0)
    client.returncode = os.waitstatus_to_exitcode(status)
    if client.returncode:
        sys.exit(f"a client ended with {client.returncode}: {said[-1:]}")
    done = next(word for word in said if word["event"] == "done")
    return Cost(usage.ru_utime + usage.ru_stime, memory_mb, done)


def peak_mb(pid: int) -> float:
    """The most a process ever had in memory; what wait4 says would include its parent's."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024 if "VmHWM:" in status else 0.0


def run(folder: Path, kind: str, config: dict[str, Any]) -> Cost:
    return ended(start(folder, kind, config))


if __name__ == "__main__":
    sys.exit(main())
