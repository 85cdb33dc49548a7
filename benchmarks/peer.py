"""The peer of the datapath: the same programs over a plain veth pair between two namespaces of their own.

``python -m benchmarks.peer stream SECONDS`` or ``datagrams COUNT`` prints one number: Mbps, or datagrams per second.
``--settled`` gives the pair the congestion control that emulated hosts have, instead of the machine's own. The
namespaces end with this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.nets import PORT
from stream2gym import linux
from stream2gym.fabric.userspace import devices, netlink


def main() -> int:
    what, amount = sys.argv[1], sys.argv[2]
    one, other = namespaces(settled="--settled" in sys.argv)
    if what == "stream":
        receiver = program(other, "tcp-receive", "--skip-s", "0.4")
        sender = program(one, "tcp-send", "10.0.0.2", "--seconds", amount)
    else:
        receiver = program(other, "udp-receive", "--idle-s", "0.5")
        sender = program(one, "udp-send", "10.0.0.2", "--count", amount)
    seen = line(receiver)
    print(seen["mbps"] if what == "stream" else seen["received"] / seen["seconds"])
    sender.communicate()
    receiver.communicate()
    return 0


def namespaces(*, settled: bool) -> tuple[int, int]:
    """Two network namespaces joined by a veth pair: 10.0.0.1 and 10.0.0.2."""
    linux.unshare(linux.CLONE_NEWNET | (linux.CLONE_NEWUSER if os.geteuid() else 0))
    one = os.open("/proc/self/ns/net", os.O_RDONLY)
    linux.unshare(linux.CLONE_NEWNET)
    other = os.open("/proc/self/ns/net", os.O_RDONLY)
    netlink.create_veth("eth0", "eth0", 1500, one)
    if settled:
        devices.set_up_namespace()
    devices.configure("veth", "eth0", "10.0.0.2", 8, 1500)
    linux.setns(one, linux.CLONE_NEWNET)
    if settled:
        devices.set_up_namespace()
    devices.configure("veth", "eth0", "10.0.0.1", 8, 1500)
    return one, other


def program(net: int, name: str, *words: str) -> subprocess.Popen[str]:
    """A traffic program in a namespace, listening if it is one that does."""
    argv = [sys.executable, "-m", "stream2gym.clients.network_probes", name, *words, "--port", str(PORT)]
    linux.setns(net, linux.CLONE_NEWNET)  # what is started here stays there
    started = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    if name.endswith("receive"):
        line(started)
    return started


def line(started: subprocess.Popen[str]) -> dict[str, Any]:
    assert started.stdout is not None
    said: dict[str, Any] = json.loads(started.stdout.readline())
    return said


if __name__ == "__main__":
    sys.exit(main())
