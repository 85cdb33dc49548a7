"""Every application of the bundled examples: verdict, time to the first result, memory, how long the command takes.

    ./s2g bench examples [NAME ...]

Each runs as a user runs it. The first result is the first message that a consumer of ours received, or the first row
that a sink wrote; its seconds count from the command, and beside them stand those until the load began. Memory is the
most that all processes of the command held at once during the run, by proportional shares (of a page that n processes
share each has 1/n), with what lies on the memory-backed storage of the hosts; the analysis comes later and is not in.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.memory import look
from benchmarks.table import Table

APPLICATIONS = (
    "word-count", "ride-selection", "sentiment-analysis", "maritime-monitoring", "traffic-monitoring",
    "fraud-detection", "intrusion-detection", "document-analytics", "military-coordination", "real-time",
)  # fmt: skip
EVERY_S = 1.0  # between two looks at the memory
TIMEOUT_S = 600.0


def main() -> int:
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")] or list(APPLICATIONS)
    table = Table("Examples")
    for name in chosen:
        with tempfile.TemporaryDirectory() as place:
            tried(table, name, Path(place) / "run")
    return table.finish()


def tried(table: Table, name: str, folder: Path) -> None:
    argv = [sys.executable, "-m", "stream2gym", "run", name, "--out", str(folder)]
    began_ns = time.monotonic_ns()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        memory = Memory(process.pid, folder / "events.jsonl")
        memory.start()
        output, _ = process.communicate(timeout=TIMEOUT_S)
        memory.join()
    took_s = (time.monotonic_ns() - began_ns) / 1e9
    if process.returncode != 0:
        print(output.decode(errors="replace")[-2000:])
    verdict = json.loads((folder / "verdict.json").read_text())["outcome"]
    loaded_s = (phase(folder, "load") - began_ns) / 1e9
    first = first_result_s(folder)
    shown = "no result" if first is None else f"{loaded_s + first:.1f} s"
    table.add(
        f"{name}: first result, memory, whole command",
        f"{shown}, {memory.most_mb / 1000:.2f} GB, {took_s:.0f} s",
        "a verdict of pass",
        f"{verdict}; load from {loaded_s:.1f} s on",
        process.returncode == 0 and verdict == "pass" and first is not None,
    )


def phase(folder: Path, name: str) -> int:
    """When a phase began, by the monotonic clock."""
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    return next(int(e["at_ns"]) for e in events if e["event"] == "phase" and e["phase"] == name)


def first_result_s(folder: Path) -> float | None:
    """From the start of load: what the consumers received or a sink wrote first."""
    received = pq.read_table(folder / "data" / "received.parquet", columns=["at_ns"])["at_ns"]
    samples = pq.read_table(folder / "data" / "samples.parquet")
    written = samples.filter((pc.field("source") == "sink") & (pc.field("value") > 0))["at_ns"]
    times = [pc.min(column).as_py() for column in (received, written) if len(column)]
    return min(times) / 1e9 if times else None


class Memory(threading.Thread):
    """The most that a command and everything below it held at once, until its run is stopped."""

    def __init__(self, pid: int, events: Path) -> None:
        super().__init__(daemon=True)
        self._pid, self._events = pid, events
        self.most_mb = 0.0

    def run(self) -> None:
        while Path(f"/proc/{self._pid}").exists() and not self._stopped():
            try:
                shares, storage = look(self._pid)
            except OSError:  # it has just ended
                return
            self.most_mb = max(self.most_mb, sum(map(sum, shares.values())) + storage)
            time.sleep(EVERY_S)

    def _stopped(self) -> bool:
        return self._events.exists() and '"phase": "stop"' in self._events.read_text()


if __name__ == "__main__":
    sys.exit(main())
