"""The emulated network as the command holds it: start it, run processes on its hosts, close it.

``start_network`` starts the keeper, which starts the supervisor, which builds the hosts and the fabric. Everything
ends with the handle's ``close``, with the command, or with any of those processes.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from stream2gym.errors import CannotHere, Defect, S2gError
from stream2gym.fabric.protocol import Fabric
from stream2gym.fabric.userspace import devices
from stream2gym.fabric.userspace.control import UserspaceFabric
from stream2gym.hosts import cgroups, wire
from stream2gym.hosts.launch import Program, Terminal
from stream2gym.hosts.limits import limits_of, warnings_of, with_room
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.private import Private
from stream2gym.hosts.process import Exit, Process
from stream2gym.plan.model import Network

BUILD_TIMEOUT_S = 120.0
ANSWER_TIMEOUT_S = 60.0
GIVE_WAY = 10  # niceness of programs on hosts where the fabric may not raise its own priority
Stdio = tuple[int, int, int]


def start_network(
    network: Network,
    *,
    keep: Sequence[Path] = (),
    device: Literal["auto", "tun", "veth"] = "auto",
    offload: bool = True,
    squeezable: Mapping[str, Collection[str]] | None = None,
    private: Private | None = None,
) -> EmulatedNetwork:
    """Build hosts, links and fabric; returns when packets flow.

    ``squeezable`` names hosts whose limits (``cpu``, ``memory``) are to be set later on. ``private`` is a folder that
    hosts see without being able to change it; ``not_private`` of the handle says what kept it from being made.
    """
    return EmulatedNetwork(
        network, keep=keep, device=device, offload=offload, squeezable=squeezable or {}, private=private
    )


class EmulatedNetwork:
    """Handle of a running network."""

    def __init__(
        self,
        network: Network,
        *,
        keep: Sequence[Path],
        device: str,
        offload: bool,
        squeezable: Mapping[str, Collection[str]],
        private: Private | None = None,
    ) -> None:
        self.network = network
        self.not_private = ""
        self.device_kind = devices.choose_device() if device == "auto" else device
        self._limits = with_room(limits_of(network), squeezable)
        self._controllers = cgroups.find_controllers() if self._limits else {}
        self.warnings = warnings_of(network, self._controllers)
        self._owner = cgroups.owner_name(os.getpid())
        self._processes: dict[int, Process] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._failure: S2gError | None = None
        self._built = False
        self._closing = False
        self._listeners: list[Callable[[S2gError], None]] = []
        cgroups.sweep(self._controllers)
        self._sock, theirs = socket.socketpair()
        control, control_theirs = socket.socketpair()
        life_read, self._life = os.pipe()
        self._keeper = self._start_keeper(theirs, control_theirs, life_read)
        self._reader = threading.Thread(target=self._read, name="s2g-supervisor-reader", daemon=True)
        try:
            wire.send(self._sock, self._order(keep, offload, private))
            self._reader.start()
            self._await(lambda: self._built or None, BUILD_TIMEOUT_S, "the hosts to be built")
            fabric = UserspaceFabric(control, timeout_s=BUILD_TIMEOUT_S)
            self.fabric: Fabric = fabric
            self._niceness = 0 if fabric.priority in ("fifo", "nice") else GIVE_WAY
        except BaseException:
            control.close()
            self.close()
            if self._failure is not None:
                raise self._failure from None
            raise

    def _start_keeper(self, *channels: socket.socket | int) -> subprocess.Popen[bytes]:
        names = ("--socket", "--control", "--life")
        fds = [c if isinstance(c, int) else c.fileno() for c in channels]
        argv = [sys.executable, "-m", "stream2gym.hosts.keeper"]
        for name, fd in zip(names, fds, strict=True):
            argv += [name, str(fd)]
        # Ctrl-C reaches the whole group, also a keeper whose interpreter is still starting: it inherits the mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGQUIT})
        try:
            return subprocess.Popen(argv, pass_fds=fds)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            for channel in channels:
                os.close(channel) if isinstance(channel, int) else channel.close()

    def _order(self, keep: Sequence[Path], offload: bool, private: Private | None) -> dict[str, Any]:
        ours = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])}
        folders = {*ours, os.getcwd(), *map(str, keep)}
        if private is not None:
            private = replace(private, shared=(*private.shared, *sorted(ours)))
        return {
            "network": self.network.to_json(),
            "keep": sorted(folders),
            "private": None if private is None else private.to_json(),
            "device_kind": self.device_kind,
            "offload": offload,
            "owner": self._owner,
            "limits": {host: limit.to_json() for host, limit in self._limits.items()},
            "controllers": {name: found.to_json() for name, found in self._controllers.items()},
        }

    def spawn(
        self,
        host: str,
        argv: Sequence[str],
        *,
        name: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | Path = WORK,
        stdio: Stdio | None = None,
        terminal: Terminal = "none",
        niceness: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Process:
        """Start a program on a host, its ``files`` written there first (absolute paths, on the host's storage).

        Without ``stdio`` it reads nothing and its output is dropped. Without ``niceness`` it gives way to a fabric
        that has no priority of its own.
        """
        planned = next((one for one in self._everyone() if one.name == host), None)
        if planned is None:
            raise KeyError(host)
        environment = {key: value for key, value in os.environ.items() if key != "TMPDIR"}
        environment |= {"S2G_HOST": host, "S2G_ADDRESS": planned.address, "S2G_WORK": WORK}
        environment |= dict(env or {})
        written = {path: base64.b64encode(content).decode() for path, content in (files or {}).items()}
        nice = self._niceness if niceness is None else niceness
        program = Program(tuple(argv), environment, str(cwd), terminal, nice, nice > 0, written)
        process = Process(next(self._numbers), host, name or Path(argv[0]).name, self._signal)
        self._processes[process.number] = process
        with contextlib.ExitStack() as stack:
            if stdio is None:
                null = os.open(os.devnull, os.O_RDWR)
                stack.callback(os.close, null)
                stdio = (null, null, null)
            request = {"op": "spawn", "host": host, "program": program.to_json()}
            answer = self._ask(request, stdio, number=process.number)
        process.pid = answer["pid"]
        return process

    def collect(self, target: Path) -> list[str]:
        """Copy what programs wrote in the private folder; gives the paths below it."""
        return list(self._ask({"op": "collect", "target": str(target)})["files"])

    def wait(self, process: Process) -> Exit:
        """Wait for the process to end; a network that breaks meanwhile raises its failure."""
        over = threading.Event()
        process.when_ended(lambda _process: over.set())
        self.when_failed(lambda _failure: over.set())
        over.wait()
        exit_seen = process.poll()
        if exit_seen is None or (self._failure is not None and exit_seen.code < 0):
            raise self._failure or Defect("the emulated network broke")
        return exit_seen

    def usage(self) -> dict[int, dict[str, float]]:
        """CPU seconds and resident bytes of every running process, by handle number."""
        return {int(key): value for key, value in self._ask({"op": "usage"})["processes"].items()}

    def fill_disk(self, host: str, leave_bytes: int = 0) -> None:
        """Leave the host's storage only so much room beyond what it holds now."""
        self._ask({"op": "resize", "host": host, "leave": leave_bytes})

    def free_disk(self, host: str) -> None:
        """Give the host's storage its planned size again."""
        self._ask({"op": "resize", "host": host, "leave": None})

    def limit(self, host: str, *, cpu_share: float | None = None, memory_bytes: int | None = None) -> None:
        """Change the limits of a host that has any; CannotHere when it has none to change."""
        for name, wanted in (("cpu", cpu_share), ("memory", memory_bytes)):
            if wanted is not None:
                self._set_limit(host, name, wanted)

    def unlimit(self, host: str, name: str) -> None:
        """The planned limit again; ``name``: cpu or memory."""
        limit = self._limits[host]
        wanted = limit.cpu_share if name == "cpu" else limit.memory_bytes
        if wanted is not None:
            self._set_limit(host, name, wanted)

    def _set_limit(self, host: str, name: str, wanted: float) -> None:
        controller = self._controllers.get(name)
        asked = self._limits.get(host, cgroups.Limit())
        if controller is None or (asked.cpu_share if name == "cpu" else asked.memory_bytes) is None:
            raise CannotHere(
                f"{host} has no {name} limit that could change",
                f"give it one in the topology, like {name}: 50 %",
            )
        if not controller.works:
            raise CannotHere(f"no {name} limits: {controller.problem}", controller.remedy)
        cgroups.change(self._owner, host, controller, wanted)

    def when_failed(self, listener: Callable[[S2gError], None]) -> None:
        """Call back when the network breaks by itself (fabric or supervisor died)."""
        self._listeners.append(listener)
        if self._failure is not None:
            listener(self._failure)

    @property
    def failure(self) -> S2gError | None:
        """Why the network is broken, or None."""
        return self._failure

    def close(self) -> None:
        """Take everything down; returns when the last process of the run is gone."""
        self._closing = True
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        self._keeper.wait()
        if self._limits:
            cgroups.remove(self._owner, self._controllers)
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        if self._reader.is_alive() and self._reader is not threading.current_thread():
            self._reader.join()
        self._sock.close()
        fabric = getattr(self, "fabric", None)
        if fabric is not None:
            fabric.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _everyone(self) -> list[Any]:
        return [*self.network.hosts, *filter(None, [self.network.observer])]

    def _signal(self, process: int, number: int) -> bool:
        return bool(self._ask({"op": "signal", "process": process, "signal": int(number)})["sent"])

    def resume(self, process: Process) -> None:
        """Continue a stopped foreground process and give it the terminal again."""
        self._ask({"op": "resume", "process": process.number})

    def _ask(
        self, request: dict[str, Any], fds: Sequence[int] = (), number: int | None = None
    ) -> dict[str, Any]:
        key = next(self._numbers) if number is None else number
        with self._sending:
            if self._failure is not None:
                raise self._failure
            try:
                wire.send(self._sock, {**request, "id": key}, fds)
            except OSError:
                raise self._failure or Defect("the supervisor is gone") from None
        answer = self._await(lambda: self._answers.pop(key, None), ANSWER_TIMEOUT_S, request["op"])
        if "error" in answer:
            raise Defect(answer["error"])
        return dict(answer)

    def _await(self, value: Callable[[], Any], timeout_s: float, what: str) -> Any:
        found: Any = None

        def there() -> bool:
            nonlocal found
            found = value()
            return found is not None or self._failure is not None

        with self._changed:
            if not self._changed.wait_for(there, timeout_s):
                raise Defect(f"waited {timeout_s:g} s for {what}")
        if found is None and self._failure is not None:
            raise self._failure
        return found

    def _read(self) -> None:
        failure: S2gError = Defect("the supervisor of the emulated network died")
        try:
            while (received := wire.receive(self._sock)) is not None:
                self._note(received[0])
        except OSError:
            pass
        if not self._closing:
            self._fail(failure)
        for process in list(self._processes.values()):  # they died with the PID namespace
            process.ended(Exit(-signal.SIGKILL))

    def _note(self, message: dict[str, Any]) -> None:
        match message["op"]:
            case "built":
                with self._changed:
                    self.not_private = message["not_private"]
                    self._built = True
                    self._changed.notify_all()
            case "answer":
                with self._changed:
                    self._answers[message["id"]] = message
                    self._changed.notify_all()
            case "exit":
                process = self._processes.pop(message["process"], None)
                if process is not None:
                    process.ended(Exit(message["code"], message["cpu_s"], message["max_rss_bytes"]))
            case "stopped":
                process = self._processes.get(message["process"])
                if process is not None:
                    process.stopped()
            case "fabric":
                self._fail(
                    Defect(f"the fabric process died ({Exit(message['code'])}): no packets move any more")
                )
            case "cannot":
                self._fail(CannotHere(message["what"], message["remedy"]))

    def _fail(self, failure: S2gError) -> None:
        with self._changed:
            if self._failure is not None:
                return
            self._failure = failure
            self._changed.notify_all()
        for listener in self._listeners:
            listener(failure)
