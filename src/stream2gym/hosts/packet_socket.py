"""A packet socket on a host: it gets a copy of every packet between clients on the host and a port of any host.

Programs on one host that talk to each other are included, although their packets never enter the fabric. The socket
belongs to the network namespace in which it was made. So any process may read it, and it outlives the programs of the
host.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct

_SO_ATTACH_FILTER = 26
_ETH_P_ALL = 0x0003
_LOOPBACK = 1  # index of ``lo``, the first device of every network namespace
_OUTGOING = 4
# Where a filter finds what the kernel knows of a packet beside its bytes.
_PACKET_TYPE, _DEVICE = 0xFFFFF004, 0xFFFFF008
_LOAD, _LOAD_BYTE, _LOAD_HALF_AT_X, _LOAD_BYTE_AT_X = 0x20, 0x30, 0x48, 0x50
_HEADER_TO_X, _IF_EQUAL, _IF_BITS, _RETURN = 0xB1, 0x15, 0x45, 0x06
_TCP, _SYN, _ACK = 6, 0x02, 0x10
_WHOLE = 0x40000

_libc = ctypes.CDLL(None, use_errno=True)

Instruction = tuple[int, int, int, int]


def open_packet_socket(port: int, *, only_openings: bool = False) -> socket.socket:
    """A socket in the current network namespace that begins to hear when it is bound to a protocol.

    ``only_openings`` shows only the first packets of connections to the port.
    """
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 0)
    try:
        _attach(sock, _openings(port) if only_openings else _traffic(port))
    except BaseException:
        sock.close()
        raise
    return sock


def begin_to_hear(sock: socket.socket) -> None:
    """Show the socket the packets of all devices of its namespace from now on."""
    # Python's own ``bind`` wants the name of one device.
    address = struct.pack("=HHiHBB8s", socket.AF_PACKET, socket.htons(_ETH_P_ALL), 0, 0, 0, 0, b"")
    if _libc.bind(sock.fileno(), address, len(address)) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "bind of a packet socket")


def _traffic(port: int) -> list[Instruction]:
    """TCP of clients on this host: to the port as it leaves, from the port as it arrives.

    On ``lo`` a packet counts when it arrives, in either direction.
    """
    return _assemble(
        [
            (_LOAD_BYTE, None, None, 9),
            (_IF_EQUAL, None, "drop", _TCP),
            (_HEADER_TO_X, None, None, 0),
            (_LOAD, None, None, _PACKET_TYPE),
            (_IF_EQUAL, "leaves", None, _OUTGOING),
            (_LOAD_HALF_AT_X, None, None, 0),
            (_IF_EQUAL, "take", None, port),
            (_LOAD, None, None, _DEVICE),
            (_IF_EQUAL, "to port", "drop", _LOOPBACK),
            "leaves",
            (_LOAD, None, None, _DEVICE),
            (_IF_EQUAL, "drop", "to port", _LOOPBACK),
            "to port",
            (_LOAD_HALF_AT_X, None, None, 2),
            (_IF_EQUAL, "take", "drop", port),
            "take",
            (_RETURN, None, None, _WHOLE),
            "drop",
            (_RETURN, None, None, 0),
        ]
    )


def _openings(port: int) -> list[Instruction]:
    """The first packet of a connection to the port, when it leaves the client."""
    return _assemble(
        [
            (_LOAD, None, None, _PACKET_TYPE),
            (_IF_EQUAL, None, "drop", _OUTGOING),
            (_LOAD_BYTE, None, None, 9),
            (_IF_EQUAL, None, "drop", _TCP),
            (_HEADER_TO_X, None, None, 0),
            (_LOAD_HALF_AT_X, None, None, 2),
            (_IF_EQUAL, None, "drop", port),
            (_LOAD_BYTE_AT_X, None, None, 13),
            (_IF_BITS, "drop", None, _ACK),
            (_IF_BITS, "take", "drop", _SYN),
            "take",
            (_RETURN, None, None, _WHOLE),
            "drop",
            (_RETURN, None, None, 0),
        ]
    )


def _assemble(lines: list[str | tuple[int, str | None, str | None, int]]) -> list[Instruction]:
    """Instructions with jumps as distances; a text in the list names the instruction behind it."""
    places: dict[str, int] = {}
    number = 0
    for line in lines:
        if isinstance(line, str):
            places[line] = number
        else:
            number += 1
    found: list[Instruction] = []
    for line in lines:
        if not isinstance(line, str):
            code, if_true, if_false, value = line
            here = len(found) + 1
            jumps = [0 if name is None else places[name] - here for name in (if_true, if_false)]
            found.append((code, jumps[0], jumps[1], value))
    return found


def _attach(sock: socket.socket, program: list[Instruction]) -> None:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(buffer)))
