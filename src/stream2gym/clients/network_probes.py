"""Small traffic programs that run on hosts: ``python -m stream2gym.clients.network_probes PROGRAM ...``.

Standard library only. Each speaks JSON lines on stdout, nothing else there; logs and tracebacks go to stderr. Servers
print ``{"ready": true, "port": P}`` once they listen, and all times are CLOCK_MONOTONIC, which every host shares.

    echo-server --port P                    answers UDP datagrams and TCP streams until killed
    udp-ping HOST --port P --count N --interval-ms I --size S [--list]
        {"sent", "received", "duplicates", "rtt_ms": {"mean", "p50", "p99", "min", "max"}, ["rtts_ms": [...]]}
    icmp-ping HOST --count N                one after the other
        {"sent", "received", "rtt_ms": {...}}
    udp-receive --port P --idle-s S [--list]
        ends when nothing came for S seconds after the first datagram
        {"received", "distinct", "duplicates", "overtaken", "bytes", "seconds", "delay_ms": {..., "sd"},
         ["numbers": [...], "delays_ms": [...], "arrivals_s": [...]]}
    udp-send HOST --port P --count N --size S [--rate R]      R datagrams a second; without it as fast as it goes
        {"sent", "seconds", "rate"}
    tcp-receive --port P --connections N [--skip-s S]
        one line a connection: {"from", "bytes", "seconds", "mbps"}; the first S seconds are left out of all three
    tcp-send HOST --port P (--seconds S | --bytes B)
        {"bytes", "seconds"}
    mesh --port P --peers A,B,... [--wait-s S]
        prints ready, and after SIGUSR1 sends one datagram to every other peer until each of them was heard
        {"received", "seconds"}
    busy --seconds S                        one busy loop
        {"seconds", "turns"}

A numbered datagram begins with its number and its time of sending, both 64-bit big-endian.
"""

from __future__ import annotations

import argparse
import json
import math
import selectors
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

_STAMP = struct.Struct("!QQ")
_CHUNK = 1 << 18


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one program."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    run(options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="probes", description="Small traffic programs that run on hosts.")
    programs = parser.add_subparsers(required=True)

    def program(name: str, run: Callable[[argparse.Namespace], None], *, to: bool = False) -> argparse.ArgumentParser:
        made = programs.add_parser(name)
        made.set_defaults(run=run)
        if to:
            made.add_argument("host")
        if name not in ("busy", "icmp-ping"):
            made.add_argument("--port", type=int, required=True)
        return made

    program("echo-server", echo_server)
    meshed = program("mesh", mesh)
    meshed.add_argument("--peers", required=True)
    meshed.add_argument("--wait-s", type=float, default=20.0)
    ping = program("udp-ping", udp_ping, to=True)
    ping.add_argument("--count", type=int, default=100)
    ping.add_argument("--interval-ms", type=float, default=10.0)
    ping.add_argument("--size", type=int, default=64)
    ping.add_argument("--wait-s", type=float, default=2.0, help="for answers after the last was sent")
    ping.add_argument("--list", action="store_true")
    program("icmp-ping", icmp_ping, to=True).add_argument("--count", type=int, default=3)
    receive = program("udp-receive", udp_receive)
    receive.add_argument("--idle-s", type=float, default=0.5)
    receive.add_argument("--list", action="store_true")
    send = program("udp-send", udp_send, to=True)
    send.add_argument("--count", type=int, default=1000)
    send.add_argument("--size", type=int, default=64)
    send.add_argument("--rate", type=float, default=0.0)
    take = program("tcp-receive", tcp_receive)
    take.add_argument("--connections", type=int, default=1)
    take.add_argument("--skip-s", type=float, default=0.0)
    give = program("tcp-send", tcp_send, to=True)
    give.add_argument("--seconds", type=float)
    give.add_argument("--bytes", type=int)
    program("busy", busy).add_argument("--seconds", type=float, required=True)
    return parser


def say(line: dict[str, Any]) -> None:
    """One JSON line, at once."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def summary(values: Sequence[float]) -> dict[str, float]:
    """Mean, standard deviation and a few quantiles; empty for no values."""
    if not values:
        return {}
    ordered, mean = sorted(values), sum(values) / len(values)
    return {
        "mean": mean,
        "sd": math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)),
        "min": ordered[0],
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))],
        "max": ordered[-1],
    }


def echo_server(options: argparse.Namespace) -> None:
    """Send back whatever arrives, on UDP and TCP."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    udp.bind(("", options.port))
    tcp = socket.create_server(("", options.port), backlog=128)
    ready = selectors.DefaultSelector()
    ready.register(udp, selectors.EVENT_READ)
    ready.register(tcp, selectors.EVENT_READ)
    say({"ready": True, "port": options.port})
    while True:
        for key, _ in ready.select():
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            if sock is udp:
                data, sender = udp.recvfrom(65535)
                udp.sendto(data, sender)
            elif sock is tcp:
                ready.register(tcp.accept()[0], selectors.EVENT_READ)
            else:
                data = sock.recv(_CHUNK)
                if data:
                    sock.sendall(data)
                else:
                    ready.unregister(sock)
                    sock.close()


def udp_ping(options: argparse.Namespace) -> None:
    """Send numbered datagrams at fixed times and note when each comes back."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((options.host, options.port))
    padding = bytes(max(0, options.size - _STAMP.size))
    times: dict[int, float] = {}
    duplicates = 0
    start = time.monotonic()
    gap = options.interval_ms / 1e3
    sent = 0
    while True:
        now = time.monotonic()
        if sent < options.count and now >= start + sent * gap:
            sock.send(_STAMP.pack(sent, time.monotonic_ns()) + padding)
            sent += 1
            continue
        until = start + sent * gap if sent < options.count else start + (sent - 1) * gap + options.wait_s
        if until <= now or len(times) == options.count:
            break
        sock.settimeout(max(until - now, 1e-6))
        try:
            data = sock.recv(65535)
        except (TimeoutError, BlockingIOError, ConnectionError):
            continue
        number, at = _STAMP.unpack_from(data)
        duplicates += number in times
        times.setdefault(number, (time.monotonic_ns() - at) / 1e6)
    line: dict[str, Any] = {"sent": sent, "received": len(times), "duplicates": duplicates}
    line["rtt_ms"] = summary(list(times.values()))
    if options.list:
        line["rtts_ms"] = [times.get(number) for number in range(sent)]
    say(line)


def icmp_ping(options: argparse.Namespace) -> None:
    """Send echo requests to the kernel of the other host, one at a time."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.settimeout(2.0)
    times = []
    for number in range(options.count):
        echo = struct.pack("!BBHHH", 8, 0, 0xFFFF - 0x0800 - number, 0, number)
        start = time.monotonic_ns()
        sock.sendto(echo, (options.host, 0))
        try:
            answer = b""
            while answer[:2] != b"\0\0" or answer[4:] != echo[4:]:
                answer = sock.recv(4096)[20:]
        except TimeoutError:
            continue
        times.append((time.monotonic_ns() - start) / 1e6)
    say({"sent": options.count, "received": len(times), "rtt_ms": summary(times)})


def udp_receive(options: argparse.Namespace) -> None:
    """Count numbered datagrams until they stop coming."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind(("", options.port))
    say({"ready": True, "port": options.port})
    seen: list[tuple[int, int, int]] = []
    buffer = bytearray(65535)
    octets, receive, clock, unpack = 0, sock.recv_into, time.monotonic_ns, _STAMP.unpack_from
    try:
        while True:
            octets += receive(buffer)
            seen.append((*unpack(buffer), clock()))
            if len(seen) == 1:
                sock.settimeout(options.idle_s)
    except TimeoutError:
        pass
    numbers = [number for number, _, _ in seen]
    delays = [(at - sent) / 1e6 for _, sent, at in seen]
    highest, overtaken = -1, 0
    for number in numbers:
        overtaken += number < highest
        highest = max(highest, number)
    distinct = len(set(numbers))
    line: dict[str, Any] = {
        "received": len(seen),
        "distinct": distinct,
        "duplicates": len(seen) - distinct,
        "overtaken": overtaken,
        "bytes": octets,
        "seconds": (seen[-1][2] - seen[0][2]) / 1e9,
        "delay_ms": summary(delays),
    }
    if options.list:
        line |= {"numbers": numbers, "delays_ms": delays, "arrivals_s": [at / 1e9 for _, _, at in seen]}
    say(line)


def udp_send(options: argparse.Namespace) -> None:
    """Send numbered datagrams at a rate, or as fast as it goes."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((options.host, options.port))
    padding = bytes(max(0, options.size - _STAMP.size))
    send, clock, pack = sock.send, time.monotonic_ns, _STAMP.pack
    gap = 1e9 / options.rate if options.rate else 0.0
    start = clock()
    for number in range(options.count):
        now = clock()
        early = start + number * gap - now
        while early > 0:
            if early > 200_000:
                time.sleep((early - 100_000) / 1e9)
            now = clock()
            early = start + number * gap - now
        send(pack(number, now) + padding)
    seconds = (clock() - start) / 1e9
    say({"sent": options.count, "seconds": seconds, "rate": options.count / seconds})


def tcp_receive(options: argparse.Namespace) -> None:
    """Receive streams to their end and report their throughput."""
    server = socket.create_server(("", options.port), backlog=options.connections)
    say({"ready": True, "port": options.port})
    lock = threading.Lock()

    def take(sock: socket.socket, sender: str) -> None:
        line = {"from": sender, **_drain(sock, options.skip_s)}
        with lock:
            say(line)

    takers = []
    for _ in range(options.connections):
        sock, (sender, _port) = server.accept()
        takers.append(threading.Thread(target=take, args=(sock, sender)))
        takers[-1].start()
    for taker in takers:
        taker.join()


def _drain(sock: socket.socket, skip_s: float) -> dict[str, float]:
    buffer = bytearray(_CHUNK)
    octets, counted_from = 0, 0.0
    started = last = time.monotonic()
    while True:
        got = sock.recv_into(buffer)
        if not got:
            break
        last = time.monotonic()
        octets += got
        if not counted_from and last - started >= skip_s:
            octets, counted_from = 0, last
    seconds = last - counted_from if counted_from else 0.0
    return {"bytes": octets, "seconds": seconds, "mbps": octets * 8 / seconds / 1e6 if seconds else 0.0}


def tcp_send(options: argparse.Namespace) -> None:
    """Send zeros for a time or up to a size."""
    sock = socket.create_connection((options.host, options.port))
    chunk = memoryview(bytes(_CHUNK))
    start = time.monotonic()
    until = math.inf if options.seconds is None else start + options.seconds
    left = math.inf if options.bytes is None else options.bytes
    octets = 0
    while octets < left and time.monotonic() < until:
        octets += sock.send(chunk[: int(min(_CHUNK, left - octets))])
    sock.shutdown(socket.SHUT_WR)
    say({"bytes": octets, "seconds": time.monotonic() - start})
    sock.recv(1)


def mesh(options: argparse.Namespace) -> None:
    """One datagram to every peer, one from every peer."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind(("", options.port))
    me = socket.gethostname()
    peers = {socket.gethostbyname(peer) for peer in options.peers.split(",") if peer != me}
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    say({"ready": True, "port": options.port})
    signal.sigwait({signal.SIGUSR1})
    start = time.monotonic()
    for peer in sorted(peers):
        sock.sendto(me.encode(), (peer, options.port))
    heard: set[str] = set()
    while heard < peers and time.monotonic() < start + options.wait_s:
        sock.settimeout(max(start + options.wait_s - time.monotonic(), 1e-3))
        try:
            heard.add(sock.recvfrom(100)[1][0])
        except TimeoutError:
            break
    say({"received": len(heard), "seconds": time.monotonic() - start})


def busy(options: argparse.Namespace) -> None:
    """Keep one core busy."""
    start = time.monotonic()
    turns = 0
    while time.monotonic() < start + options.seconds:
        turns += 1
    say({"seconds": time.monotonic() - start, "turns": turns})


if __name__ == "__main__":
    sys.exit(main())
