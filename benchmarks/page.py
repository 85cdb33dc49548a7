"""What the page costs its run: lateness, throughput and CPU while ten pages are open, and while none is.

    ./s2g bench page [ROUNDS]

One run, in which the server of the page is there in some windows of ten seconds and not in others (off, on, on, off,
and so on). While it is there, ten pages read everything that it sends, and one more never reads at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import mean, median

from benchmarks.table import Table
from stream2gym.api import prepare
from stream2gym.execution.new_folder import new_folder
from stream2gym.execution.phases import execute_run
from stream2gym.execution.view import SilentView
from stream2gym.interrupts import Interrupts
from stream2gym.own_python import own_python
from stream2gym.record.events import read_events
from stream2gym.record.schemas import read_table
from stream2gym.spec.model import Experiment

WINDOW_S = 10.0
SETTLE_S = 8.0
PATTERN = (False, True, True, False)
PAGES = 10
# Lateness and throughput with pages, against without: more than this would be an influence on the run.
MOST_LATER_US = 100.0
LEAST_SHARE = 0.97
MOST_CORES = 0.5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def experiment(time_s: float) -> Experiment:
    return Experiment.model_validate(
        {
            "name": "page",
            "topology": {"kind": "star", "hosts": 5, "latency": "2 ms"},
            "brokers": [{"on": "h1"}, {"on": "h2"}, {"on": "h3"}],
            "topics": [{"name": "t", "partitions": 3, "replicas": 3}],
            "producers": [
                {"name": "gen", "on": "h4", "topic": "t", "rate": "2000/s", "size": "200 B", "linger": "5 ms"}
            ],
            "consumers": [{"name": "see", "on": "h5", "topics": ["t"], "group": "g"}],
            "time": f"{time_s:g} s",
        }
    )


class Page:
    """The server of the page, and the pages that are open."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            own_python("-m", "stream2gym.web.page_process", str(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        link = json.loads(self._process.stdout.readline())["link"]
        self._sockets = [open_stream(link) for _ in range(PAGES + 1)]
        self.bytes = 0
        for stream in self._sockets[1:]:
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def close(self) -> None:
        for stream in self._sockets:
            stream.close()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)

    def _read(self, stream: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := stream.recv(1 << 20):
                self.bytes += len(data)


def open_stream(link: str) -> socket.socket:
    """A connection that has asked for frames."""
    address, _, token = link.partition("/#token=")
    host = address.removeprefix("http://")
    stream = socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])))
    stream.sendall(f"GET /api/stream HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return stream


class Windows:
    """Opens and closes the page while the load goes on, and measures each window."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self._folder = folder
        self._pattern = PATTERN * rounds
        # Of each window: whether there were pages, its beginning and its end, cores that the server used, bytes sent.
        self.seen: list[tuple[bool, int, int, float, int]] = []
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(WINDOW_S)

    def _measure(self) -> None:
        events = self._folder / "events.jsonl"
        while not any(event.get("phase") == "load" for event in read_events(events)):
            time.sleep(0.2)
        time.sleep(SETTLE_S)
        for on in self._pattern:
            page = Page(self._folder) if on else None
            # The start of a process is no part of the window; it happens once in a run.
            time.sleep(1.0)
            began_ns, before = time.monotonic_ns(), page.cpu_s() if page else 0.0
            time.sleep(WINDOW_S)
            cores = (page.cpu_s() - before) / WINDOW_S if page else 0.0
            self.seen.append((on, began_ns, time.monotonic_ns(), cores, page.bytes if page else 0))
            if page:
                page.close()


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    rounds = int(words[0]) if words else 1
    table = Table(f"The page: {PAGES} open and one that never reads, against none")
    with tempfile.TemporaryDirectory() as place, Interrupts() as interrupts:
        planned, loaded = prepare(experiment(SETTLE_S + (WINDOW_S + 4) * len(PATTERN) * rounds + 4))
        folder = new_folder(planned, loaded, Path(place, "run"))
        windows = Windows(folder.path, rounds)
        outcome = execute_run(planned, folder, SilentView(), interrupts)
        windows.join()
        folder.release()
        if outcome.error is not None or len(windows.seen) < len(PATTERN) * rounds:
            raise SystemExit(f"the run ended early: {outcome.error}")
        compare(table, windows, folder.path)
    return table.finish()


def compare(table: Table, windows: Windows, run: Path) -> None:
    """Lateness and throughput with pages and without."""
    t0_ns = next(event["at_ns"] for event in read_events(run / "events.jsonl") if event.get("phase") == "load")
    samples = read_table(run / "data", "samples").to_pylist()
    received = read_table(run / "data", "received").column("at_ns").to_pylist()
    late: dict[bool, list[float]] = {True: [], False: []}
    rates: dict[bool, list[float]] = {True: [], False: []}
    for on, began_ns, ended_ns, _, _ in windows.seen:
        low, high = began_ns - t0_ns, ended_ns - t0_ns
        late[on] += [
            row["value"]
            for row in samples
            if (row["object"], row["metric"]) == ("lateness", "p99_us") and low <= row["at_ns"] < high
        ]
        rates[on].append(sum(low <= at < high for at in received) / (high - low) * 1e9)
    later = median(late[True]) - median(late[False])
    share = mean(rates[True]) / mean(rates[False])
    table.add(
        "lateness of packets, median of p99", f"{median(late[True]):.0f} us", f"< {MOST_LATER_US:.0f} us more",
        f"{median(late[False]):.0f} us without", later < MOST_LATER_US,
    )  # fmt: skip
    table.add(
        "received a second", f"{mean(rates[True]):.1f}", f">= {LEAST_SHARE:.0%}", f"{mean(rates[False]):.1f} without",
        share >= LEAST_SHARE,
    )  # fmt: skip
    cores = mean(window[3] for window in windows.seen if window[0])
    table.add("CPU of the server, at nice 19", f"{cores:.2f} cores", f"< {MOST_CORES}", "", cores < MOST_CORES)
    sent = mean(window[4] for window in windows.seen if window[0]) / WINDOW_S / PAGES
    table.add("bytes a second for each page", f"{sent / 1024:.1f} KiB")


if __name__ == "__main__":
    sys.exit(main())
