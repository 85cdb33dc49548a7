"""``capture``: write the packets of a link of a run that goes on to a pcap file, as Wireshark and tshark read it."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import time
from pathlib import Path

from stream2gym.cli.arguments import add_run
from stream2gym.errors import BadInput, Mistake
from stream2gym.plan.planned import Plan
from stream2gym.units import Duration


def add(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument("link", metavar="LINK", help="a link of the topology, such as 'h1 -- s1'")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file (default: h1--s1.pcap, here)")
    parser.add_argument("--for", dest="for_", metavar="TIME", help="how long (default: until Ctrl-C or the end)")
    parser.epilog = "Packets are written as they enter the link, in both directions, lost ones included."


def run(args: argparse.Namespace) -> int:
    from stream2gym.execution.host_requests import capture_link, explain_refusal, read_plan
    from stream2gym.record.folder import find_run

    mistakes: list[Mistake] = []
    limit_s = read_limit(args.for_, mistakes)
    folder = find_run(args.run)
    if not folder.is_running():
        raise BadInput([*mistakes, explain_refusal(folder)])
    link = find_link(read_plan(folder), args.link, mistakes)
    if mistakes:
        raise BadInput(mistakes)
    target: Path = args.out or Path(f"{link.replace(' ', '')}.pcap")
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BadInput(Mistake("--out", f"{target}: {error.strerror}", "name a file that you may write")) from None
    # Ctrl-C is the usual end of a capture: it is no failure.
    args.interrupts.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    try:
        with capture_link(folder, link, fd) as connection:
            wait_for_end(connection.fileno(), limit_s)
    finally:
        os.close(fd)
    print(f"{target}: {count_packets(target):,} packets of {link} in {time.monotonic() - began:.1f} s")
    return 0


def wait_for_end(connection: int, limit_s: float | None) -> None:
    """Wait for the time, for Ctrl-C, or for the end of the run."""
    with contextlib.suppress(KeyboardInterrupt):
        select.select([connection], [], [], limit_s)


def read_limit(text: str | None, mistakes: list[Mistake]) -> float | None:
    if text is None:
        return None
    try:
        return float(Duration.parse(text))
    except ValueError as error:
        mistakes.append(Mistake("--for", str(error)))
        return None


def find_link(plan: Plan, wanted: str, mistakes: list[Mistake]) -> str:
    """The name of a link, whichever of its ends is named first."""
    from stream2gym.spec.findings import did_you_mean

    names = [link.name for link in plan.network.links]
    ends = [end.strip() for end in wanted.split("--")]
    for link in plan.network.links:
        if wanted == link.name or (len(ends) == 2 and {link.a, link.b} == set(ends)):
            return link.name
    hint = did_you_mean(wanted, names) or f"links: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}"
    mistakes.append(Mistake(wanted, "there is no such link", hint))
    return ""


def count_packets(file: Path) -> int:
    """The packets of a capture file."""
    import struct

    data, at, count = file.read_bytes(), 24, 0
    while at + 16 <= len(data):
        at += 16 + struct.unpack_from("=I", data, at + 8)[0]
        count += 1
    return count
