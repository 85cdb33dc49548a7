"""The fabric process: ``python -m stream2gym.fabric.userspace.main --control-fd N --spec-fd M``.

It reads one JSON document from the spec descriptor::

    {"network": Network, "devices": {"h1": fd, ...}, "counters": {"h1": fd, ...}, "device_kind": "tun" | "veth"}

It builds the engine over the inherited descriptors of devices (``overflow`` reads the ``counters``), writes
``{"ready": true, ...}`` to the control socket, and moves packets until that socket is closed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import socket
from contextlib import suppress

from stream2gym.fabric.userspace.devices import ETHERNET_BYTES, RING_PACKETS
from stream2gym.fabric.userspace.loop import Loop
from stream2gym.fabric.userspace.overflow import Overflows
from stream2gym.fabric.userspace.packet_engine import PacketEngine
from stream2gym.fabric.userspace.server import Server
from stream2gym.linux import name_process, take_priority
from stream2gym.plan.planned import Network


def main() -> None:
    """Build the engine, report that it is ready, and move packets."""
    parser = argparse.ArgumentParser(description="The userspace fabric of a run; started by its supervisor.")
    parser.add_argument("--control-fd", type=int, required=True)
    parser.add_argument("--spec-fd", type=int, required=True)
    arguments = parser.parse_args()
    # Ctrl-C is for the command, which closes the control socket then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name_process("s2g-fabric")
    with os.fdopen(arguments.spec_fd) as file:
        spec = json.load(file)
    network = Network.from_json(spec["network"])
    for fd in spec["devices"].values():
        os.set_blocking(fd, False)
    engine = PacketEngine(network, spec["devices"], ethernet_bytes=ETHERNET_BYTES[spec["device_kind"]])
    control = socket.socket(fileno=arguments.control_fd)
    control.setblocking(False)
    priority = take_priority()
    loop = Loop(engine, control, RING_PACKETS[spec["device_kind"]], is_preemptible=priority != "fifo")
    server = Server(control, engine, loop, Overflows(spec["device_kind"], engine.ports.values(), spec["counters"]))
    server.say({"ready": True, "priority": priority, "links": [link.name for link in network.links]})
    # Packets make no reference cycles, and a garbage collection would only make packets late.
    del spec
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        loop.run(server.serve)
    finally:
        engine.stop_captures()
        with suppress(OSError):
            control.close()


if __name__ == "__main__":
    main()
