"""Kafka's throughput through the fabric on a fast link, beside the same programs over a plain veth pair.

    ./s2g bench throughput

One broker, one client that sends and then reads, each on a host of its own; 0.05 ms, no limit of bandwidth. Ours and
the peer's in turns, medians count. Client, broker and fabric share the cores; over veth two of them have them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks import peer
from benchmarks.bare import MEMORY
from benchmarks.nets import network_of
from benchmarks.table import Table
from stream2gym import linux
from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.software.ensure_kafka import ensure_kafka

ROUNDS = 7
LOADS = ((100, 600_000), (1000, 150_000))  # bytes a message, messages
GOAL = 0.9
ROOT = Path(__file__).resolve().parent.parent
SERVER = "10.0.0.2"
TIMEOUT_S = 180.0

Move = Callable[[int, int], dict[str, float]]  # size, messages


def main() -> int:
    if "--peer" in sys.argv:
        serve_peer()
        return 0
    ensure_kafka()
    table = Table("Kafka through the fabric")
    with fabric() as (net, ours), veth() as theirs:
        for move in (ours, theirs):
            move(*LOADS[0])  # the first messages of a JVM are slow
        for size, count in LOADS:
            measure(table, net, (ours, theirs), size, count)
    return table.finish()


def measure(table: Table, net: EmulatedNetwork, both: tuple[Move, Move], size: int, count: int) -> None:
    mine, others, shares = [], [], []
    for number in range(ROUNDS):
        for move in both[:: 1 if number % 2 else -1]:
            before = net.fabric.stats()
            took = move(size, count)
            after = net.fabric.stats()
            if move is both[0]:
                mine.append(took)
                shares.append((after.cpu_s - before.cpu_s) / (took["produce_s"] + took["consume_s"]))
            else:
                others.append(took)
    for what, keys in (
        ("sent and read", ("produce_s", "consume_s")),
        ("sent", ("produce_s",)),
        ("read", ("consume_s",)),
    ):
        rate, limit = (median(count / sum(took[key] for key in keys) for took in taken) for taken in (mine, others))
        judged = len(keys) == 2
        table.add(
            f"messages of {size} B {what}",
            f"{rate / 1e3:,.0f} k/s ({rate / limit:.2f} of veth)",
            f"{GOAL} of veth" if judged else "",
            f"veth {limit / 1e3:,.0f} k/s",
            rate >= GOAL * limit if judged else None,
        )
    table.add("  CPU of the fabric meanwhile", f"{median(shares):.0%} of a core")


@contextlib.contextmanager
def fabric() -> Iterator[tuple[EmulatedNetwork, Move]]:
    network = network_of(["h1", "h2"], ["h1 -- h2: 0.05 ms, unlimited"])
    addresses = {host.name: host.address for host in network.hosts}
    with start_network(network, keep=[ROOT]) as net:
        words = ["serve", addresses["h2"], "/tmp/work"]
        net.spawn("h2", program(*words), cwd=ROOT)

        def move(size: int, count: int) -> dict[str, float]:
            read, write = os.pipe()
            null = os.open(os.devnull, os.O_RDONLY)
            argv = program("move", addresses["h2"], str(count), str(size))
            try:
                process = net.spawn("h1", argv, cwd=ROOT, stdio=(null, write, 2))
            finally:
                os.close(write)
                os.close(null)
            with os.fdopen(read) as said:
                answer: dict[str, float] = json.loads(said.readline())
            process.wait(TIMEOUT_S)
            return answer

        yield net, move


@contextlib.contextmanager
def veth() -> Iterator[Move]:
    argv = [sys.executable, "-m", "benchmarks.throughput", "--peer"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None

    def move(size: int, count: int) -> dict[str, float]:
        process.stdin.write(f"{count} {size}\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        answer: dict[str, float] = json.loads(process.stdout.readline())  # type: ignore[union-attr]
        return answer

    try:
        yield move
    finally:
        process.stdin.close()
        process.wait(TIMEOUT_S)


def serve_peer() -> None:
    """Holds the pair of namespaces and the broker; moves what it is asked to on standard input."""
    one, other = peer.namespaces(settled=True)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        linux.setns(other, linux.CLONE_NEWNET)
        quiet = subprocess.DEVNULL
        broker = subprocess.Popen(program("serve", SERVER, folder), stdout=quiet, stderr=quiet)
        linux.setns(one, linux.CLONE_NEWNET)
        try:
            for line in sys.stdin:
                done = subprocess.run(
                    program("move", SERVER, *line.split()), stdout=subprocess.PIPE, text=True, check=True
                )
                print(done.stdout.strip(), flush=True)
        finally:
            broker.kill()
            broker.wait()


def program(*words: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.kafkaload", *words]


if __name__ == "__main__":
    sys.exit(main())
