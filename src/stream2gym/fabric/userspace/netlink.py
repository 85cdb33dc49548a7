"""The few netlink and ethtool calls that devices need. A library for them would take 100 ms to import."""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct

# Both ends of every pair have this address, so that frames can be forwarded unchanged.
ONE_MAC = bytes.fromhex("020000000001")

_RTM_NEWLINK, _NLMSG_ERROR = 16, 2
_REQUEST, _ACK, _EXCLUSIVE, _CREATE = 0x001, 0x004, 0x200, 0x400
_ADDRESS, _IFNAME, _MTU, _TXQLEN, _LINKINFO, _NET_NS_FD = 1, 3, 4, 13, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_INFO_PEER = 1, 2, 1
_IFINFO = struct.Struct("=BxHiII")
_SIOCETHTOOL = 0x8946
_TX_CHECKSUM_OFF, _SEGMENTATION_OFF, _GENERIC_OFF = 0x17, 0x1F, 0x24


def create_veth(name: str, peer: str, mtu: int, peer_net: int) -> None:
    """Make a veth pair: ``name`` in the current network namespace, ``peer`` in the namespace ``peer_net``."""
    far = _attribute(_NET_NS_FD, struct.pack("=I", peer_net)) + _end(peer, mtu)
    data = _attribute(_VETH_INFO_PEER, _IFINFO.pack(0, 0, 0, 0, 0) + far)
    info = _attribute(_INFO_KIND, b"veth") + _attribute(_INFO_DATA, data)
    body = _IFINFO.pack(0, 0, 0, 0, 0) + _end(name, mtu) + _attribute(_LINKINFO, info)
    _change(body, _EXCLUSIVE | _CREATE, f"veth {peer}")


def set_queue_length(name: str, packets: int) -> None:
    """Set how many packets may wait in the device. Unlike the ioctl, root of a user namespace may do this."""
    body = _IFINFO.pack(0, 0, 0, 0, 0) + _attribute(_IFNAME, name.encode() + b"\0")
    _change(body + _attribute(_TXQLEN, struct.pack("=I", packets)), 0, f"queue of {name}")


def _change(body: bytes, flags: int, what: str) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        header = struct.pack("=IHHII", 16 + len(body), _RTM_NEWLINK, _REQUEST | _ACK | flags, 1, 0)
        sock.sendall(header + body)
        answer = sock.recv(4096)
    code = -struct.unpack_from("=i", answer, 16)[0] if answer[4] == _NLMSG_ERROR else 0
    if code:
        raise OSError(code, os.strerror(code), what)


def offload_off(control: socket.socket, name: str) -> None:
    """Let the kernel compute checksums and split segments before packets reach the device."""
    for command in (_SEGMENTATION_OFF, _GENERIC_OFF, _TX_CHECKSUM_OFF):
        value = array.array("I", [command, 0])
        fcntl.ioctl(control, _SIOCETHTOOL, struct.pack("16sP16x", name.encode(), value.buffer_info()[0]))


def _end(name: str, mtu: int) -> bytes:
    named = _attribute(_IFNAME, name.encode() + b"\0")
    return named + _attribute(_MTU, struct.pack("=I", mtu)) + _attribute(_ADDRESS, ONE_MAC)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
