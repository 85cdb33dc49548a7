"""How long the analysis of a long run takes, and whether it is linear: 1, 3 and 10 million records.

A record is a row of the sent or of the received table; every message here has one of each. Each size runs in a
process of its own, so that the peak of its memory (Python and Spark's JVM together) is its own.

    python benchmarks/audit.py [--millions 1 3 10] [--partitions 4]
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.analysis.fake_run import FakeRun
from stream2gym.record.schemas import TABLES

BLOCK = 1 << 18
RATE = 50_000
GOAL_S, GOAL_MB, GOAL_RECORDS = 90.0, 2048, 10_000_000


def write_run(path: Path, records: int, partitions: int) -> None:
    """A run with half as many messages as records; one message in a hundred thousand is lost."""
    messages = records // 2
    run = FakeRun(
        messages / RATE,
        topics=[{"name": "in", "partitions": partitions}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        consumers=[{"name": "see", "on": "h2", "topics": ["in"], "group": "g"}],
    )
    (path / "data").mkdir(parents=True)
    for partition in range(partitions):
        run.offsets("in", partition, 0, len(range(partition, messages, partitions)))
    for name in ("offsets", "samples", "truth"):
        pq.write_table(pa.Table.from_pylist(run.rows[name], TABLES[name]), path / "data" / f"{name}.parquet")
    names = {name: [f.name for f in TABLES[name] if pa.types.is_dictionary(f.type)] for name in TABLES}
    writers = {
        name: pq.ParquetWriter(
            path / "data" / f"{name}.parquet", TABLES[name], compression="zstd", use_dictionary=names[name]
        )
        for name in ("sent", "received")
    }
    for first in range(0, messages, BLOCK):
        for name, block in _block(first, min(BLOCK, messages - first), partitions).items():
            writers[name].write_table(block)
    for writer in writers.values():
        writer.close()
    run.write_rest(path)


def _block(first: int, count: int, partitions: int) -> dict[str, pa.Table]:
    seq = pa.array(range(first, first + count), pa.int64())
    offset = pc.divide(seq, partitions)
    partition = pc.subtract(seq, pc.multiply(offset, partitions)).cast(pa.int32())
    due = pc.multiply(seq, 1_000_000_000 // RATE)
    wait = pc.cast(pc.multiply(pc.random(count, initializer=first), 20e6), pa.int64(), safe=False)

    def name(text: str) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([text]))

    sent = {
        "producer": name("gen"), "instance": pa.repeat(pa.scalar(1, pa.int32()), count), "seq": seq,
        "topic": name("in"), "partition": partition, "offset": offset, "key_hash": pa.nulls(count, pa.int64()),
        "value_hash": seq, "size": pa.repeat(pa.scalar(100, pa.int32()), count), "due_ns": due,
        "sent_ns": pc.add(due, 50_000), "done_ns": pc.add(due, pc.add(wait, 1_000_000)), "status": name("acked"),
        "error": pa.nulls(count, TABLES["sent"].field("error").type),
    }  # fmt: skip
    received = {key: sent[key] for key in ("instance", "topic", "partition", "offset", "producer", "seq")}
    received |= {key: sent[key] for key in ("key_hash", "value_hash", "size")}
    received |= {"consumer": name("see"), "group": name("g"), "broker_ms": pc.divide(due, 1_000_000)}
    received["at_ns"] = pc.add(due, 30_000_000)
    kept = pc.not_equal(pc.subtract(seq, pc.multiply(pc.divide(seq, 100_000), 100_000)), 77_777)
    tables = {"sent": sent, "received": received}
    whole = {
        key: pa.table([columns[f.name] for f in TABLES[key]], schema=TABLES[key]) for key, columns in tables.items()
    }
    return {"sent": whole["sent"], "received": whole["received"].filter(kept)}


def measure(path: Path) -> None:
    """Analyse one folder and print what it took, as JSON."""
    from stream2gym.analysis.analyse import analyse

    since, cpu = time.monotonic(), _cpu_s()
    found = analyse(path)
    peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    lost = sum(row.lost for row in found.audit)
    print(json.dumps({
        "seconds": time.monotonic() - since, "cpu_s": _cpu_s() - cpu, "peak_mb": peak, "lost": lost,
        "took_s": found.took_s,
    }))  # fmt: skip


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return 0
    results = []
    print(f"{'records':>12} {'seconds':>8} {'CPU s':>7} {'peak MB':>8} {'lost':>5}  where the seconds went")
    with tempfile.TemporaryDirectory(prefix="s2g-audit-") as scratch:
        for millions in args.millions:
            records = round(millions * 1e6)
            run = Path(scratch) / f"run-{records}"
            write_run(run, records, args.partitions)
            command = [sys.executable, __file__, "--measure", str(run)]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
            if answer.returncode:
                print(answer.stderr, file=sys.stderr)
                return 1
            got = json.loads(answer.stdout.splitlines()[-1])
            expected = len(range(77_777, records // 2, 100_000))
            if got["lost"] != expected:
                print(f"wrong: {got['lost']} lost, {expected} are missing", file=sys.stderr)
                return 1
            where = ", ".join(f"{name} {seconds:.1f}" for name, seconds in got["took_s"].items())
            print(
                f"{records:12,} {got['seconds']:8.1f} {got['cpu_s']:7.1f} {got['peak_mb']:8.0f} "
                f"{got['lost']:5}  {where}",
                flush=True,
            )
            results.append((records, got))
    if len(results) > 1:
        (small, first), (large, last) = results[0], results[-1]
        exponent = math.log(last["seconds"] / first["seconds"]) / math.log(large / small)
        print(f"\nseconds grow with records to the power of {exponent:.2f} (1 is linear)")
    large, last = results[-1]
    if large >= GOAL_RECORDS:
        kept = last["seconds"] <= GOAL_S and last["peak_mb"] <= GOAL_MB
        print(f"goal: {GOAL_RECORDS:,} records in {GOAL_S:g} s and {GOAL_MB} MB: {'kept' if kept else 'missed'}")
        return 0 if kept else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
