"""The command's end of the control channel: ``UserspaceFabric`` is the handle of the fabric process."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Defect, Mistake
from stream2gym.fabric.protocol import FabricStats, Lateness, LinkCounters
from stream2gym.link import LinkSettings

_ANSWER_TIMEOUT_S = 30.0


def stats_of(snapshot: dict[str, Any], links: Sequence[tuple[str, str]] = ()) -> FabricStats:
    """The snapshot of the engine as ``FabricStats``. The engine leaves out links without packets; they are added."""
    seen = {(row[0], row[1]): LinkCounters(*row) for row in snapshot["links"]}
    return FabricStats(
        at_ns=snapshot["at_ns"],
        links=tuple(seen.get(key) or LinkCounters(*key) for key in links or seen),
        lateness=Lateness.from_json(snapshot["lateness"]),
        unasked_drops=snapshot["unasked_drops"],
        cpu_s=snapshot["cpu_s"],
        run_delay_s=snapshot.get("run_delay_s", 0.0),
        no_route=snapshot["no_route"],
        blocked=snapshot["blocked"],
    )


class UserspaceFabric:
    """A ``Fabric`` in another process, over a connected stream socket. Any thread may call it.

    Every call raises Defect when that process has ended.
    """

    def __init__(self, control: socket.socket, *, timeout_s: float = 60.0) -> None:
        self._control = control
        self._lock = threading.Lock()
        self._received = b""
        self._closed = False
        control.settimeout(timeout_s)
        ready = self._line()
        if not ready.get("ready"):
            raise Defect(f"the fabric did not start: {ready}")
        self.has_priority: bool = ready["priority"] in ("fifo", "nice")
        self._links: tuple[tuple[str, str], ...] = tuple(
            (link, way) for link in ready["links"] for way in ("forward", "backward")
        )
        control.settimeout(_ANSWER_TIMEOUT_S)

    def set_link(
        self, link: str, *, forward: LinkSettings | None = None, backward: LinkSettings | None = None
    ) -> None:
        self.set_links({link: (forward, backward)})

    def set_links(self, changes: dict[str, tuple[LinkSettings | None, LinkSettings | None]]) -> None:
        links = {
            link: [None if settings is None else settings.to_json() for settings in pair]
            for link, pair in changes.items()
        }
        self._ask({"do": "set", "links": links})

    def cut(self, link: str) -> None:
        self._ask({"do": "cut", "link": link})

    def heal(self, link: str) -> None:
        self._ask({"do": "heal", "link": link})

    def block(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._ask({"do": "block", "pairs": sorted(pairs)})

    def move(self, link: str, a: str, b: str) -> None:
        self._ask({"do": "move", "link": link, "ends": [a, b]})

    def stats(self, *, every_device: bool = False) -> FabricStats:
        return stats_of(self._ask({"do": "stats", "every_device": every_device})["stats"], self._links)

    def capture(self, link: str, path: Path) -> None:
        with path.open("wb") as file:
            self._ask({"do": "capture", "link": link}, [file.fileno()])

    def stop_capture(self, link: str) -> None:
        self._ask({"do": "stop capture", "link": link})

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with suppress(OSError, Defect):
                self._control.sendall(b'{"do": "close"}\n')
                self._line()
            self._control.close()

    def _ask(self, request: dict[str, Any], files: list[int] | None = None) -> dict[str, Any]:
        line = json.dumps(request).encode() + b"\n"
        with self._lock:
            if self._closed:
                raise Defect("the fabric is closed")
            try:
                if files:
                    sent = socket.send_fds(self._control, [line], files)
                    line = line[sent:]
                self._control.sendall(line)
            except OSError as error:
                raise Defect(f"the fabric process is gone: {error.strerror}") from error
            answer = self._line()
        if "mistake" in answer:
            raise BadInput(Mistake(**answer["mistake"]))
        return answer

    def _line(self) -> dict[str, Any]:
        while b"\n" not in self._received:
            try:
                data = self._control.recv(1 << 20)
            except TimeoutError:
                raise Defect("the fabric process does not answer") from None
            except OSError as error:
                raise Defect(f"the fabric process is gone: {error.strerror}") from error
            if not data:
                raise Defect("the fabric process is gone")
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer
