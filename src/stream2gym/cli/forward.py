"""``forward``: a port of this machine that leads to a program on a host of a run that goes on, or to its brokers."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from stream2gym.cli.arguments import add_run
from stream2gym.errors import BadInput, Mistake
from stream2gym.plan.planned import Plan

if TYPE_CHECKING:
    from stream2gym.execution.host_requests import HostConnections, HostProgram
    from stream2gym.record.folder import RunFolder

EXAMPLES = """\
examples:
  s2g forward latest h3:4040             http://127.0.0.1:4040 is port 4040 of host h3
  s2g forward latest job:4040 --port 80  the host of the component job, at a port of your choice
  s2g forward latest --kafka             every broker has a port here; clients need nothing but the printed addresses
"""
# Where the ports of brokers begin, if they are free.
KAFKA_PORT = 19092


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    add_run(parser)
    parser.add_argument(
        "target", metavar="HOST:PORT", nargs="?", help="a host, or a component that runs on it, and the port there"
    )
    parser.add_argument("--kafka", action="store_true", help="forward the brokers instead, with their addresses")
    parser.add_argument(
        "--port", type=int, metavar="N", help="the port here (default: the same, or any that is free)"
    )


def run(args: argparse.Namespace) -> int:
    from stream2gym.execution.host_requests import explain_refusal, read_plan
    from stream2gym.record.folder import find_run

    mistakes = find_mistakes(args.target, args.kafka, args.port)
    if mistakes:
        raise BadInput(mistakes)
    folder = find_run(args.run)
    if not folder.is_running():
        raise BadInput(explain_refusal(folder))
    plan = read_plan(folder)
    # Ctrl-C is the usual end: it is no failure.
    args.interrupts.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ExitStack() as stack:
        if args.kafka:
            program = forward_kafka(stack, folder, plan, args.port)
        else:
            program = forward_port(stack, folder, plan, args.target, args.port)
        with contextlib.suppress(KeyboardInterrupt):
            program.wait()
            print("s2g: the run stops", file=sys.stderr)
    return 0


def find_mistakes(target: str | None, is_kafka: bool, port: int | None) -> list[Mistake]:
    """What is wrong with the arguments by themselves."""
    found = []
    if is_kafka and target:
        found.append(Mistake(target, "one argument too many", "s2g forward RUN --kafka forwards every broker"))
    if not is_kafka and not target:
        found.append(Mistake("forward", "nothing is named to forward to", "HOST:PORT, such as h3:4040, or --kafka"))
    if target and not is_kafka:
        name, _, number = target.rpartition(":")
        if not (name and number.isdecimal() and 0 < int(number) < 65536):
            found.append(Mistake(target, "is no HOST:PORT", "such as h3:4040"))
    if port is not None and not 0 < port < 65536:
        found.append(Mistake("--port", f"{port} is no port", "1 to 65535"))
    return found


def find_place(plan: Plan, target: str) -> tuple[str, str, int]:
    """The host that a target means, its address, and the port."""
    from stream2gym.spec.findings import did_you_mean

    name, _, port = target.rpartition(":")
    addresses = {host.name: host.address for host in plan.network.hosts}
    hosts = {part.name: part.host for part in plan.components} | {host: host for host in addresses}
    if name not in hosts:
        hint = did_you_mean(name, list(hosts)) or f"hosts: {', '.join(list(addresses)[:10])}"
        raise BadInput(Mistake(target, f"there is no host and no component {name!r}", hint))
    return hosts[name], addresses[hosts[name]], int(port)


def find_brokers(plan: Plan) -> list[tuple[str, str, str]]:
    """Name, host and address of every Kafka broker."""
    addresses = {host.name: host.address for host in plan.network.hosts}
    found = [(one.name, one.host, addresses[one.host]) for one in plan.components if one.kind == "broker"]
    if not found:
        raise BadInput(Mistake("--kafka", "this run has no brokers", "HOST:PORT forwards a port of a host"))
    return found


def forward_port(stack: ExitStack, folder: RunFolder, plan: Plan, target: str, port: int | None) -> HostProgram:
    """Forward one port. Returns the program on the host, which ends with the run."""
    from stream2gym.execution.port_forward import LOOPBACK, ForwardedPort, listen_on

    host, address, there = find_place(plan, target)
    listener = listen_on(port, there)
    connections = open_connections(stack, folder, host, address, there)
    stack.callback(ForwardedPort(listener, connections.connect, say).close)
    here = f"{LOOPBACK}:{listener.getsockname()[1]}"
    print(f"{here} is port {there} of {host}, until Ctrl-C or the end of the run", flush=True)
    return connections.program


def forward_kafka(stack: ExitStack, folder: RunFolder, plan: Plan, port: int | None) -> HostProgram:
    """Forward every broker, and replace the addresses that they tell their clients."""
    from stream2gym.components.cluster import CLIENT_PORT
    from stream2gym.execution.port_forward import LOOPBACK, ForwardedPort, listen_on
    from stream2gym.packets.kafka_addresses import AddressChange, replace_from

    brokers = find_brokers(plan)
    listeners = [
        listen_on(None if port is None else port + number, KAFKA_PORT + number) for number in range(len(brokers))
    ]
    here = [(LOOPBACK, int(listener.getsockname()[1])) for listener in listeners]
    replace = replace_from({(address, CLIENT_PORT): own for (*_, address), own in zip(brokers, here, strict=True)})
    program: HostProgram | None = None
    for (_, host, address), listener in zip(brokers, listeners, strict=True):
        connections = open_connections(stack, folder, host, address, CLIENT_PORT)
        forwarded = ForwardedPort(listener, connections.connect, say, lambda: AddressChange(replace))
        stack.callback(forwarded.close)
        program = program or connections.program
    for (name, host, _), own in zip(brokers, here, strict=True):
        print(f"{own[0]}:{own[1]} is {name} on {host}")
    print(f"bootstrap.servers={','.join(f'{host}:{number}' for host, number in here)}", flush=True)
    assert program is not None
    return program


def open_connections(stack: ExitStack, folder: RunFolder, host: str, address: str, port: int) -> HostConnections:
    """What opens connections on a host: to its address, or to its loopback if nobody listens there."""
    from stream2gym.execution.host_requests import HostConnections

    connections = HostConnections(folder, host, [(address, port), ("127.0.0.1", port)])
    stack.callback(connections.close)
    return connections


def say(text: str) -> None:
    print(f"s2g: {text}", file=sys.stderr, flush=True)
