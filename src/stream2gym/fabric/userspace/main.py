"""The fabric process: ``python -m stream2gym.fabric.userspace.main --control-fd N --spec-fd M``.

Reads one JSON document from the spec descriptor until it ends::

    {"network": Network, "devices": {"h1": fd, ...}, "device_kind": "tun" | "veth", "priority": {"wanted": "auto"}}

builds the engine over the inherited device descriptors, says ``{"ready": true, ...}`` on the control socket, and
moves packets until that socket is closed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import socket
from contextlib import suppress

from stream2gym.fabric.userspace.devices import ETHERNET_BYTES
from stream2gym.fabric.userspace.engine import Engine
from stream2gym.fabric.userspace.loop import Loop
from stream2gym.fabric.userspace.overflow import Overflows
from stream2gym.fabric.userspace.priority import take_priority
from stream2gym.fabric.userspace.server import Server
from stream2gym.linux import name_process
from stream2gym.plan.model import Network


def main() -> None:
    """Build, say so, run."""
    parser = argparse.ArgumentParser(description="The userspace fabric of a run; started by its supervisor.")
    parser.add_argument("--control-fd", type=int, required=True)
    parser.add_argument("--spec-fd", type=int, required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which then closes the channel
    name_process("s2g-fabric")
    with os.fdopen(arguments.spec_fd) as file:
        spec = json.load(file)
    network = Network.from_json(spec["network"])
    for fd in spec["devices"].values():
        os.set_blocking(fd, False)
    engine = Engine(network, spec["devices"], ethernet_bytes=ETHERNET_BYTES[spec["device_kind"]])
    control = socket.socket(fileno=arguments.control_fd)
    control.setblocking(False)
    loop = Loop(engine, control)
    server = Server(control, engine, loop, Overflows(spec["device_kind"], engine.ports))
    priority = take_priority(spec.get("priority", {}).get("wanted", "auto"))
    server.say({"ready": True, "priority": priority, "links": [link.name for link in network.links]})
    # Packets make no reference cycles, and a collection in the middle of traffic would only make them late.
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
