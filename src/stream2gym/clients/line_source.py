"""Serves lines of text on a TCP port, as ``nc -lk`` would: ``python -m stream2gym.clients.line_source CONFIG.json``.

CONTRACT
  in      CONFIG.json        a ``LineSourceConfig``
          standard input     one line: t0, CLOCK_MONOTONIC nanoseconds, from which lines are due
  out     the port           every line is sent to every client that is connected when it is due; while none is
                             connected, no line is due, so that none is lost
          ``record``         a file with every line that was sent, once
          standard output    lines ``S2G {json}``: ready (it listens), connected, left, progress (sent), done
  signals SIGTERM, SIGINT    stop
  exit    0 stopped; 2 bad configuration; 3 the port is taken
"""

from __future__ import annotations

import random
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stream2gym.clients.client_process import (
    DONE,
    STATUS_EVERY_NS,
    CannotContinue,
    Status,
    StopFlag,
    launch,
    read_gate,
    report_error,
)
from stream2gym.clients.config import ClientConfig, load
from stream2gym.errors import BadInput, Mistake

WORDS = (
    "stream", "table", "window", "state", "late", "event", "join", "key", "value", "topic", "offset", "batch",
    "link", "host", "delay", "loss",
)  # fmt: skip
STOP_S = 5.0
TURN_S = 0.05


@dataclass(frozen=True)
class LineSourceConfig(ClientConfig):
    address: str
    port: int
    record: str
    file: str | None = None
    lines: int | None = None  # None: the file once, or generated lines without end
    rate: float | None = None  # lines a second; None: as fast as clients take them
    seed: int = 1
    duration_s: float | None = None  # from t0; clients stay connected afterwards

    def mistakes(self) -> list[Mistake]:
        return [Mistake("rate", f"{self.rate} is not a rate")] if self.rate is not None and self.rate <= 0 else []


def lines_of(config: LineSourceConfig) -> Iterator[str]:
    """The lines to send: those of a file, repeated if more are asked for than it has, or generated ones."""
    if config.file is None:
        chance = random.Random(config.seed)
        count = 0
        while config.lines is None or count < config.lines:
            yield " ".join(chance.choices(WORDS, k=chance.randint(3, 8)))
            count += 1
        return
    text = Path(config.file).read_text("utf-8", errors="replace").splitlines()
    wanted = len(text) if config.lines is None else config.lines
    for number in range(wanted if text else 0):
        yield text[number % len(text)]


class LineServer:
    """The listening socket and its clients."""

    def __init__(self, config: LineSourceConfig, status: Status) -> None:
        self.status = status
        self.clients: list[socket.socket] = []
        try:
            self._listener = socket.create_server((config.address, config.port))
        except OSError as error:
            raise CannotContinue(f"port {config.port} of {config.address} cannot be had: {error.strerror}") from error
        self._listener.setblocking(False)

    def accept(self, wait_s: float = 0.0) -> None:
        """Accept new clients and drop those that have left."""
        readable, _, _ = select.select([self._listener, *self.clients], [], [], wait_s)
        for one in readable:
            if one is self._listener:
                client, address = self._listener.accept()
                client.settimeout(STOP_S)
                self.clients.append(client)
                self.status.say("connected", peer=address[0])
            else:
                try:
                    gone = not one.recv(4096)
                except OSError:
                    gone = True
                if gone:
                    self._drop(one)

    def send(self, data: bytes) -> None:
        for client in list(self.clients):
            try:
                client.sendall(data)
            except OSError:
                self._drop(client)

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self._listener.close()

    def _drop(self, client: socket.socket) -> None:
        client.close()
        self.clients.remove(client)
        self.status.say("left")


def serve(config: LineSourceConfig, server: LineServer, status: Status, stop: StopFlag) -> int:
    """Send every line when it is due; returns how many were sent."""
    t0_ns = read_gate(stop, TURN_S, server.accept)
    if t0_ns is None:
        return 0
    sent, next_status = 0, 0
    due_ns = float(t0_ns)
    step_ns = 0.0 if config.rate is None else 1e9 / config.rate
    end_ns = float("inf") if config.duration_s is None else t0_ns + config.duration_s * 1e9
    with Path(config.record).open("a", encoding="utf-8") as record:
        for line in lines_of(config):
            while (
                not stop.asked
                and time.monotonic_ns() < end_ns
                and (not server.clients or time.monotonic_ns() < due_ns)
            ):
                waiting_ns = max(0.0, due_ns - time.monotonic_ns())
                server.accept(TURN_S if not server.clients else min(TURN_S, waiting_ns / 1e9))
                if not server.clients:
                    due_ns = max(due_ns, time.monotonic_ns())
            if stop.asked or max(due_ns, time.monotonic_ns()) >= end_ns:
                break
            record.write(f"{line}\n")
            server.send(line.encode() + b"\n")
            sent += 1
            due_ns += step_ns
            if time.monotonic_ns() >= next_status:
                record.flush()
                next_status = time.monotonic_ns() + STATUS_EVERY_NS
                status.say("progress", sent=sent)
    status.say("done", sent=sent)
    while not stop.asked:
        server.accept(TURN_S)
    return sent


def main(path: str) -> int:
    status = Status()
    try:
        config = load(LineSourceConfig, Path(path))
        stop = StopFlag(STOP_S)
        server = LineServer(config, status)
        status.say("ready", port=config.port)
        serve(config, server, status, stop)
        server.close()
    except (BadInput, CannotContinue, OSError, EOFError) as error:
        return report_error(status, error)
    return DONE


if __name__ == "__main__":
    launch("line_source", main)
