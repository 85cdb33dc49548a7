"""The desk where people ask a running run for faults by hand: a socket in its folder, JSON lines both ways.

    {"do": "apply", "fault": {...as in an experiment...}}   {"ok": {fault, do, on ...}}
    {"do": "heal", "name": NAME}                             {"ok": [...]}
    {"do": "list"}                                           {"ok": {active, planned, waiting}}

What is wrong comes back as ``{"mistakes": [...]}``. The socket is there while faults can happen.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stream2gym.errors import BadInput, Mistake, S2gError
from stream2gym.faults.runner import FaultRunner
from stream2gym.plan.model import PlannedFault
from stream2gym.spec.checks import check_experiment
from stream2gym.spec.experiment import Fault
from stream2gym.spec.model import Experiment

SOCKET = "control.sock"
ANSWER_S = 60.0
_LONGEST = 1 << 20


@contextlib.contextmanager
def near(folder: Path) -> Iterator[str]:
    """A short name for the socket: addresses of sockets have room for about a hundred characters only."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


class FaultDesk:
    """The faults of a run as the gym holds them, with a thread that answers at the socket."""

    def __init__(self, runner: FaultRunner, folder: Path, experiment: Experiment, base: Path) -> None:
        self._runner, self._folder = runner, folder
        self._experiment, self._base = experiment, base
        self._socket = socket.socket(socket.AF_UNIX)
        with near(folder) as name:
            self._socket.bind(name)
        self._socket.listen(8)
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="s2g-control", daemon=True)
        self._thread.start()

    @property
    def held(self) -> frozenset[str]:
        return self._runner.held

    def end_load(self) -> None:
        self._runner.end_load()

    def close(self) -> None:
        """Undo every fault and be gone; may be called twice."""
        self._runner.close()
        if not self._closing:
            self._closing = True
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._thread.join(ANSWER_S)
            self._socket.close()
            (self._folder / SOCKET).unlink(missing_ok=True)

    def _serve(self) -> None:
        while not self._closing:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                client.settimeout(ANSWER_S)
                client.sendall(json.dumps(self._answer(_line(client))).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            match request["do"]:
                case "apply":
                    return {"ok": self._runner.apply(self._planned(request["fault"]))}
                case "heal":
                    return {"ok": self._runner.heal(str(request["name"]))}
                case "list":
                    return {"ok": self._runner.overview()}
            raise BadInput(f"no such request: {request['do']!r}")
        except BadInput as error:
            return {"mistakes": [mistake.as_json() for mistake in error.mistakes]}
        except (ValueError, KeyError, TypeError, S2gError) as error:
            return {"mistakes": [Mistake("", f"{type(error).__name__}: {error}").as_json()]}

    def _planned(self, said: dict[str, Any]) -> PlannedFault:
        """The fault, checked as one in a file is."""
        try:
            fault = Fault.model_validate({"at": "0 s", **said})
        except ValidationError as error:
            raise BadInput([Mistake("fault", problem["msg"]) for problem in error.errors()]) from error
        alone = Experiment.model_validate(
            self._experiment.model_dump(by_alias=True)
            | {"faults": [fault.model_dump(by_alias=True)], "expect": []}
        )
        mistakes = [m for m in check_experiment(alone, self._base) if "fault" in m.where]
        if mistakes:
            raise BadInput(mistakes)
        [whole] = alone.faults
        for_s = None if whole.for_ is None else float(whole.for_)
        return PlannedFault(str(whole.name), whole.do, tuple(whole.on), dict(whole.settings), for_s=for_s)


def request(folder: Path, question: dict[str, Any]) -> Any:
    """Ask the run in this folder; BadInput with its mistakes, or when it takes no requests."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_S)
        try:
            with near(folder) as name:
                client.connect(name)
        except OSError:
            hint = "a run takes faults from the start of its load until it stops"
            raise BadInput(Mistake(folder.name, "takes no faults now", hint)) from None
        client.sendall(json.dumps(question).encode() + b"\n")
        answer = json.loads(
            _line(client) or b'{"mistakes": [{"where": "", "what": "the run ended meanwhile"}]}'
        )
    if "mistakes" in answer:
        raise BadInput([Mistake(**mistake) for mistake in answer["mistakes"]])
    return answer["ok"]


def _line(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LONGEST:
        part = sock.recv(1 << 16)
        if not part:
            break
        data += part
    return data
