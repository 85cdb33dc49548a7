"""The fabric's end of the control channel: JSON lines in, JSON lines out, inside the loop that moves packets.

A request is ``{"do": ..., ...}``. The answer, ``{"ok": true, ...}`` or ``{"mistake": {...}}``, is sent when the
change is in force. The request for a capture has the open file as a descriptor, because this process may see other
folders.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from stream2gym.errors import BadInput
from stream2gym.fabric.userspace.loop import Loop
from stream2gym.fabric.userspace.overflow import Overflows
from stream2gym.fabric.userspace.packet_engine import PacketEngine
from stream2gym.fabric.userspace.pcap import PcapWriter
from stream2gym.fabric.userspace.run_delay import open_run_delay, read_run_delay_ns
from stream2gym.link import Bursts, LinkSettings


class Server:
    """Answers the requests of the command."""

    def __init__(self, control: socket.socket, engine: PacketEngine, loop: Loop, overflows: Overflows) -> None:
        self._control = control
        self._engine = engine
        self._loop = loop
        self._overflows = overflows
        self._received = b""
        self._to_send = b""
        self._files: list[int] = []
        self._run_delay_fd = open_run_delay()

    def serve(self) -> bool:
        """Read, answer and write what is possible now. Returns False when the fabric has to end."""
        if self._to_send:
            self._send(b"")
        try:
            data, files, _, _ = socket.recv_fds(self._control, 1 << 20, 8)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        if not data:
            return False
        self._files += files
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if request["do"] == "close":
                self.say({"ok": True})
                return False
            self.say(self._answer(request))
        return True

    def say(self, message: dict[str, Any]) -> None:
        """Send a line, now or when the socket takes it."""
        self._send(json.dumps(message).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        self._to_send += data
        try:
            self._to_send = self._to_send[self._control.send(self._to_send) :]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._to_send = b""
        self._loop.want_to_write(bool(self._to_send))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"ok": True, **(self._do(request) or {})}
        except BadInput as error:
            return {"mistake": error.mistakes[0].as_json()}

    def _do(self, request: dict[str, Any]) -> dict[str, Any] | None:
        engine = self._engine
        match request["do"]:
            case "set":
                engine.set_links(
                    {link: (settings(one), settings(other)) for link, (one, other) in request["links"].items()}
                )
            case "cut":
                engine.cut(request["link"], True)
            case "heal":
                engine.cut(request["link"], False)
            case "block":
                engine.block((source, target) for source, target in request["pairs"])
            case "move":
                engine.move(request["link"], *request["ends"])
            case "stats":
                stats = engine.stats()
                stats["unasked_drops"] |= self._overflows.count(every_device=request["every_device"])
                stats["run_delay_s"] = read_run_delay_ns(self._run_delay_fd) / 1e9
                return {"stats": stats}
            case "capture":
                engine.capture(request["link"], PcapWriter(os.fdopen(self._files.pop(0), "wb")))
            case "stop capture":
                engine.stop_capture(request["link"])
            case unknown:
                raise BadInput(f"the fabric cannot do {unknown!r}")
        return None


def settings(data: dict[str, Any] | None) -> LinkSettings | None:
    """Settings from JSON. This is faster than ``from_json``, because packets wait meanwhile."""
    if data is None:
        return None
    bursts = data["bursts"]
    return LinkSettings(**{**data, "bursts": None if bursts is None else Bursts(**bursts)})
