"""The devices through which packets leave and enter a host: TUN, or veth with a packet socket if TUN is not allowed.

The supervisor makes the network namespace of a host, stays inside it, and calls once a host::

    unshare(CLONE_NEWNET)
    fd = open_device(kind, name, address, prefix_length, mtu, host_net=..., fabric_net=..., offload=True)

The call returns in the same namespace. ``lo`` and the interface are up and have their addresses, which is read back.
If /proc allows it, IPv6 is off and TCP uses CUBIC or Reno. ``fd`` is non-blocking and is passed to the fabric
process. One read is one packet, after a virtio header of ten bytes (and, for veth, an Ethernet header of fourteen
bytes that is the same for all). ``host_net`` and ``fabric_net`` are descriptors of network namespaces, which only
veth needs: its far end, with the packet socket, is in the namespace of the fabric. A host takes some ioctls and one
netlink message; a thousand hosts take a second or two.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
from typing import Literal

from stream2gym import linux
from stream2gym.errors import Defect
from stream2gym.fabric.userspace import netlink

DeviceKind = Literal["tun", "veth"]
ETHERNET_BYTES: dict[str, int] = {"tun": 0, "veth": 14}
TUN_PATH = "/dev/net/tun"
# How many packets may wait in a device to be read by the engine. The queue of a TUN device counts packets. The buffer
# of a packet socket counts bytes, and has room for at most this many of the smallest packets.
RING_PACKETS: dict[str, int] = {"tun": 2000, "veth": 65_536}

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
_SO_RCVBUFFORCE = 33
_PACKET_BUFFER_BYTES = 16 << 20


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
    """Make the interface ``name`` in the current network namespace. Returns the descriptor of its packets."""
    set_up_namespace()
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


def open_counters() -> int:
    """A descriptor of the kernel's counters of all devices in the current network namespace, for any process."""
    return os.open("/proc/thread-self/net/dev", os.O_RDONLY | os.O_CLOEXEC)


def choose_device() -> DeviceKind:
    """TUN if its device file can be opened, else veth. Whether veth works is known when the first one is made."""
    try:
        os.close(os.open(TUN_PATH, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return "veth"
    return "tun"


def _open_tun(name: str, offload: bool) -> int:
    fd = os.open(TUN_PATH, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR)
        fcntl.ioctl(fd, _TUNSETIFF, request)
        fcntl.ioctl(fd, _TUNSETVNETHDRSZ, struct.pack("i", 10))
        # Otherwise the kernel removes each device when its descriptor is closed, which takes 25 ms each. This way it
        # removes all of them together with their namespaces.
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
        set_up_namespace()
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
            # Only when the device is up: otherwise the first read fails.
            sock.bind((far, _ETH_P_IP))
            fd = sock.detach()
    finally:
        linux.setns(host_net, linux.CLONE_NEWNET)
    if not offload:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            netlink.offload_off(control, name)
    return fd


def _widen(sock: socket.socket) -> None:
    """Enlarge the buffers, because a few bursts of 64 KB fill the default ones. Only root may exceed the limit."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _PACKET_BUFFER_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PACKET_BUFFER_BYTES)
    with contextlib.suppress(PermissionError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _PACKET_BUFFER_BYTES)


def configure(kind: str, name: str, address: str, prefix_length: int, mtu: int) -> None:
    """Bring ``lo`` and the interface up, set address and MTU, and read them back."""
    wanted = socket.inet_aton(address)
    mask = struct.pack("!I", (0xFFFFFFFF << (32 - prefix_length)) & 0xFFFFFFFF)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        _bring_up(control, "lo")
        fcntl.ioctl(control, _SIOCSIFMTU, struct.pack("16si20x", name.encode(), mtu))
        if kind == "tun":
            netlink.set_queue_length(name, RING_PACKETS["tun"])
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
        raise Defect(f"the kernel did not take the address or MTU of {name}: {address}/{prefix_length}, MTU {mtu}")


def _with_address(name: str, address: bytes) -> bytes:
    return struct.pack("16sHH4s16x", name.encode(), socket.AF_INET, 0, address)


def _bring_up(control: socket.socket, name: str, more: int = 0) -> None:
    asked = struct.pack("16sH22x", name.encode(), 0)
    flags = struct.unpack("16sH22x", fcntl.ioctl(control, _SIOCGIFFLAGS, asked))[1] | _IFF_UP | more
    fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags))
    if not struct.unpack("16sH22x", fcntl.ioctl(control, _SIOCGIFFLAGS, asked))[1] & _IFF_UP:
        raise Defect(f"the kernel did not bring {name} up")


def set_up_namespace() -> None:
    """Turn IPv6 off and set a congestion control that does not depend on the machine's, if /proc allows it.

    A namespace may use Reno always, and CUBIC if the machine allows it to all users, as most do.
    """
    for name, value in _NAMESPACE_SETTINGS:
        with contextlib.suppress(OSError), open(f"/proc/sys/net/{name}", "w") as file:
            file.write(value)
