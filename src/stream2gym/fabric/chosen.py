"""The fabric that runs use. It is chosen here: nothing outside of a fabric's own package names it otherwise.

Another fabric offers the same: the device of a host, the program that moves packets, and the handle of that program.
"""

from __future__ import annotations

import socket

from stream2gym.fabric.protocol import Fabric
from stream2gym.fabric.userspace.control import UserspaceFabric
from stream2gym.fabric.userspace.devices import choose_device, open_counters, open_device

__all__ = ["FABRIC_PROGRAM", "choose_device", "connect_fabric", "open_counters", "open_device"]

# The module that the supervisor starts, with the descriptors of all devices.
FABRIC_PROGRAM = "stream2gym.fabric.userspace.main"


def connect_fabric(control: socket.socket, *, timeout_s: float) -> Fabric:
    """The handle of the fabric at the other end of the socket; returns when packets move."""
    return UserspaceFabric(control, timeout_s=timeout_s)
