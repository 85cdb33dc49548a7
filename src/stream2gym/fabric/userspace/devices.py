"""The devices through which packets leave and enter a host: TUN, or veth with a packet socket where TUN is shut.

The supervisor makes the network namespace of a host, stays inside it, and calls once a host::

    unshare(CLONE_NEWNET)
    fd = open_device(kind, name, address, prefix_length, mtu, host_net=..., fabric_net=..., offload=True)

The call returns in the same namespace, with ``lo`` and the interface up and addressed and all of it read back; where
/proc lets us, IPv6 is off and TCP uses CUBIC or Reno. ``fd`` is non-blocking and stays with the engine, in whatever
process: one read is one packet, led by a virtio header of ten bytes (and, for veth, an Ethernet header of fourteen
that is the same for everybody). ``host_net`` and ``fabric_net`` are descriptors of network namespaces that only veth
needs: its far end, with the packet socket, lives in the fabric's. Plain ioctls and one netlink message: a thousand
hosts take a second or two.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import subprocess
import sys
from typing import Literal

from stream2gym import linux
from stream2gym.errors import Defect
from stream2gym.fabric.userspace import netlink

DeviceKind = Literal["tun", "veth"]
ETHERNET_BYTES: dict[str, int] = {"tun": 0, "veth": 14}
TUN_PATH = "/dev/net/tun"
QUEUE_PACKETS = 2000  # of a TUN device, towards us: what may wait while the engine is busy elsewhere

_TUNSETIFF, _TUNSETPERSIST, _TUNSETOFFLOAD, _TUNSETVNETHDRSZ = 0x400454CA, 0x400454CB, 0x400454D0, 0x400454D8
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
_TUN_F_CSUM, _TUN_F_TSO4 = 0x01, 0x02
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCGIFADDR, _SIOCSIFADDR = 0x8913, 0x8914, 0x8915, 0x8916
_SIOCGIFNETMASK, _SIOCSIFNETMASK, _SIOCGIFMTU, _SIOCSIFMTU = 0x891B, 0x891C, 0x8921, 0x8922
_IFF_UP, _IFF_NOARP = 0x1, 0x80
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_QDISC_BYPASS = 263, 15, 20
_ETH_P_IP = 0x0800
_NAMESPACE_SETTINGS = (
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    ("ipv4/tcp_congestion_control", "reno"),
    ("ipv4/tcp_congestion_control", "cubic"),
)
_SO_RCVBUFFORCE, _PACKET_BUFFER_BYTES = 33, 16 << 20


def open_device(
    kind: str,
    name: str,
    address: str,
    prefix_length: int,
    mtu: int,
    *,
    host_net: int = -1,
    fabric_net: int = -1,
    offload: bool = True,
) -> int:
    """Make the interface ``name`` in the current network namespace; the descriptor moves its packets."""
    settle()
    if kind == "tun":
        fd = _open_tun(name, offload)
    else:
        far = "s2g" + socket.inet_aton(address).hex()
        fd = _open_veth((far, name), mtu, host_net, fabric_net, offload)
    try:
        configure(kind, name, address, prefix_length, mtu)
    except BaseException:
        os.close(fd)
        raise
    return fd


def choose_device() -> DeviceKind:
    """TUN where its device file can be opened, else veth; whether veth works shows when the first one is made."""
    try:
        os.close(os.open(TUN_PATH, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return "veth"
    return "tun"


def probe_device() -> str:
    """``tun`` or ``veth``, whichever would be taken here; otherwise the reason why neither can be."""
    try:
        os.close(os.open(TUN_PATH, os.O_RDWR | os.O_CLOEXEC))
        return "tun"
    except OSError as error:
        reason = f"{TUN_PATH}: {error.strerror}"
    tried = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=False)
    answer = tried.stdout.strip()
    return "veth" if answer == "veth" else f"{reason}; veth: {answer or tried.stderr.strip()[-200:]}"


def _open_tun(name: str, offload: bool) -> int:
    fd = os.open(TUN_PATH, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR)
        fcntl.ioctl(fd, _TUNSETIFF, request)
        fcntl.ioctl(fd, _TUNSETVNETHDRSZ, struct.pack("i", 10))
        # Else closing the descriptor takes the device down by itself, 25 ms each; this way all go with their
        # namespaces, in one sweep of the kernel's.
        fcntl.ioctl(fd, _TUNSETPERSIST, 1)
        fcntl.ioctl(fd, _TUNSETOFFLOAD, _TUN_F_CSUM | _TUN_F_TSO4 if offload else 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _open_veth(ends: tuple[str, str], mtu: int, host_net: int, fabric_net: int, offload: bool) -> int:
    far, name = ends
    linux.setns(fabric_net, linux.CLONE_NEWNET)
    try:
        settle()
        netlink.create_veth(far, name, mtu, host_net)
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        with sock:
            sock.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
            sock.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
            _widen(sock)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                _bring_up(control, far, _IFF_NOARP)
                if not offload:
                    netlink.offload_off(control, far)
            sock.bind((far, _ETH_P_IP))  # once it is up: bound to a device that is down, the first read fails
            fd = sock.detach()
    finally:
        linux.setns(host_net, linux.CLONE_NEWNET)
    if not offload:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            netlink.offload_off(control, name)
    return fd


def _widen(sock: socket.socket) -> None:
    """A few bursts of 64 KB fill the default buffer; only a privileged process may go beyond the system's limit."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _PACKET_BUFFER_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PACKET_BUFFER_BYTES)
    with contextlib.suppress(PermissionError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _PACKET_BUFFER_BYTES)


def configure(kind: str, name: str, address: str, prefix_length: int, mtu: int) -> None:
    """Bring ``lo`` and the interface up, addressed as asked, and read back that they are."""
    wanted = socket.inet_aton(address)
    mask = struct.pack("!I", (0xFFFFFFFF << (32 - prefix_length)) & 0xFFFFFFFF)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        _bring_up(control, "lo")
        fcntl.ioctl(control, _SIOCSIFMTU, struct.pack("16si20x", name.encode(), mtu))
        if kind == "tun":
            netlink.set_queue_length(name, QUEUE_PACKETS)
        fcntl.ioctl(control, _SIOCSIFADDR, _with_address(name, wanted))
        fcntl.ioctl(control, _SIOCSIFNETMASK, _with_address(name, mask))
        _bring_up(control, name, _IFF_NOARP)
        asked = _with_address(name, bytes(4))
        read = (
            fcntl.ioctl(control, _SIOCGIFADDR, asked)[20:24],
            fcntl.ioctl(control, _SIOCGIFNETMASK, asked)[20:24],
            struct.unpack("16si20x", fcntl.ioctl(control, _SIOCGIFMTU, asked))[1],
        )
    if read != (wanted, mask, mtu):
        raise Defect(
            f"the kernel did not take the address or MTU of {name}: {address}/{prefix_length}, MTU {mtu}"
        )


def _with_address(name: str, address: bytes) -> bytes:
    return struct.pack("16sHH4s16x", name.encode(), socket.AF_INET, 0, address)


def _bring_up(control: socket.socket, name: str, more: int = 0) -> None:
    asked = struct.pack("16sH22x", name.encode(), 0)
    flags = struct.unpack("16sH22x", fcntl.ioctl(control, _SIOCGIFFLAGS, asked))[1] | _IFF_UP | more
    fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags))
    if not struct.unpack("16sH22x", fcntl.ioctl(control, _SIOCGIFFLAGS, asked))[1] & _IFF_UP:
        raise Defect(f"the kernel did not bring {name} up")


def settle() -> None:
    """Where /proc lets us: no IPv6, and a congestion control that does not depend on the machine's own.

    A namespace may take CUBIC only where the machine allows it to everybody, as most do; Reno always.
    """
    for name, value in _NAMESPACE_SETTINGS:
        with contextlib.suppress(OSError), open(f"/proc/sys/net/{name}", "w") as file:
            file.write(value)


def _try_veth() -> str:
    """Make a veth device and its packet socket in namespaces of their own, which end with this process."""
    user = 0 if os.geteuid() == 0 else linux.CLONE_NEWUSER
    try:
        linux.unshare(user | linux.CLONE_NEWNET)
        fabric_net = os.open("/proc/self/ns/net", os.O_RDONLY)
        linux.unshare(linux.CLONE_NEWNET)
        host_net = os.open("/proc/self/ns/net", os.O_RDONLY)
        open_device("veth", "eth0", "10.0.0.1", 8, 1500, host_net=host_net, fabric_net=fabric_net)
    except OSError as error:
        return f"{error.strerror} ({error.filename or 'veth and packet socket'})"
    return "veth"


if __name__ == "__main__":
    print(_try_veth())
