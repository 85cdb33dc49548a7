"""Faults by hand while a run goes on: requests at a socket in its folder, JSON lines both ways.

    {"do": "apply", "fault": {...as in an experiment...}}   {"ok": {fault, do, on ...}}
    {"do": "heal", "name": NAME}                             {"ok": [...]}
    {"do": "list"}                                           {"ok": {active, planned, waiting}}

The answer to a wrong request is ``{"mistakes": [...]}``. The socket exists while faults can happen.
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
from stream2gym.faults.fault_runner import FaultRunner
from stream2gym.kinds.registry import registry
from stream2gym.plan.fault_schedule import plan_without_times
from stream2gym.plan.planned import PlannedFault
from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.experiment import Fault

SOCKET = "control.sock"
ANSWER_S = 60.0
_LONGEST = 1 << 20


@contextlib.contextmanager
def socket_path(folder: Path, name: str = SOCKET) -> Iterator[str]:
    """A short path of a socket in the folder, while the block runs: addresses of sockets must be short."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{name}"
    finally:
        os.close(fd)


class FaultServer:
    """Handle of the faults of a run. A thread answers requests at the socket."""

    def __init__(self, runner: FaultRunner, folder: Path, experiment: Experiment, base: Path) -> None:
        self._runner = runner
        self._folder = folder
        self._experiment = experiment
        self._base = base
        self._socket = socket.socket(socket.AF_UNIX)
        with socket_path(folder) as name:
            self._socket.bind(name)
        self._socket.listen(8)
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="s2g-control", daemon=True)
        self._thread.start()

    @property
    def held(self) -> frozenset[str]:
        """Components that faults keep from running and will start again: the load waits for them."""
        return self._runner.held

    def end_load(self) -> None:
        """Let no new fault of the plan begin."""
        self._runner.end_load()

    def close(self) -> None:
        """Undo every fault and remove the socket; may be called twice."""
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
                client.sendall(json.dumps(self._answer(_read_line(client))).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            match request["do"]:
                case "apply":
                    return {"ok": self._runner.apply(self._plan_fault(request["fault"]))}
                case "heal":
                    return {"ok": self._runner.heal(str(request["name"]))}
                case "list":
                    return {"ok": self._runner.overview()}
            raise BadInput(f"no such request: {request['do']!r}")
        except BadInput as error:
            return {"mistakes": [mistake.as_json() for mistake in error.mistakes]}
        except (ValueError, KeyError, TypeError, S2gError) as error:
            return {"mistakes": [Mistake("", f"{type(error).__name__}: {error}").as_json()]}

    def _plan_fault(self, said: dict[str, Any]) -> PlannedFault:
        """Check the fault like one in a file, and return it as the plan would hold it."""
        try:
            fault = Fault.model_validate({"at": "0 s", **said})
        except ValidationError as error:
            raise BadInput([Mistake("fault", problem["msg"]) for problem in error.errors()]) from error
        alone = Experiment.model_validate(
            self._experiment.model_dump(by_alias=True) | {"faults": [fault.model_dump(by_alias=True)], "expect": []}
        )
        # The rest of the experiment was checked before the run; its files may have changed since.
        mistakes = check_experiment(alone, self._base, section="faults")
        if mistakes:
            raise BadInput(mistakes)
        [whole] = alone.faults
        kind = registry("fault").find(whole.do)
        assert kind is not None, "an unknown kind is a mistake"
        return plan_without_times(whole, kind)


def send_request(folder: Path, question: dict[str, Any]) -> Any:
    """Send a request to the run in this folder and return its answer.

    Raises BadInput with the mistakes that the run found in the request, or when the run takes no requests now.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_S)
        try:
            with socket_path(folder) as name:
                client.connect(name)
        except OSError:
            hint = "a run takes faults from the start of its load until it stops"
            raise BadInput(Mistake(folder.name, "takes no faults now", hint)) from None
        client.sendall(json.dumps(question).encode() + b"\n")
        answer = json.loads(_read_line(client) or b'{"mistakes": [{"where": "", "what": "the run ended meanwhile"}]}')
    if "mistakes" in answer:
        raise BadInput([Mistake(**mistake) for mistake in answer["mistakes"]])
    return answer["ok"]


def _read_line(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LONGEST:
        part = sock.recv(1 << 16)
        if not part:
            break
        data += part
    return data
