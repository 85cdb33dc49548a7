"""The command's handle of the emulated network: start it, run programs on its hosts, close it.

``start_network`` starts the keeper, which starts the supervisor, which builds the hosts and starts the fabric. All of
it ends when the handle is closed, or when the command or any of those processes ends.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from stream2gym.closing import ClosedOnExit
from stream2gym.errors import Defect, S2gError
from stream2gym.fabric.chosen import choose_device, connect_fabric
from stream2gym.fabric.protocol import Fabric
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.environment import clean_environment
from stream2gym.hosts.host_limits import HostLimits
from stream2gym.hosts.launch import Program, Terminal
from stream2gym.hosts.private_view import PrivateView
from stream2gym.hosts.process import Exit, Process
from stream2gym.hosts.supervisor_channel import SupervisorChannel
from stream2gym.own_python import own_python
from stream2gym.plan.planned import Network

BUILD_TIMEOUT_S = 120.0
# How long a busy machine may take to read the memory of all processes.
MEMORY_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 30.0
# The niceness of programs on hosts if the fabric could not raise its own priority.
LOW_PRIORITY_NICENESS = 10
Stdio = tuple[int, int, int]


def start_network(
    network: Network,
    *,
    keep: Sequence[Path] = (),
    device: Literal["auto", "tun", "veth"] = "auto",
    offload: bool = True,
    limitable: Mapping[str, Collection[str]] | None = None,
    private: PrivateView | None = None,
) -> EmulatedNetwork:
    """Build hosts, links and fabric. Returns when packets flow.

    ``keep`` are folders that hosts see even if they lie under ``/tmp``. ``limitable`` names the hosts whose limits
    (``cpu``, ``memory``) will be set later. ``private`` is a folder that hosts see but cannot change; if it could not
    be made so, ``not_private`` of the handle says why.
    """
    return EmulatedNetwork(
        network, keep=keep, device=device, offload=offload, limitable=limitable or {}, private=private
    )


@dataclass(frozen=True)
class Tap:
    """Descriptors of packet sockets on a host.

    One shows all traffic of a port, the other the beginnings of connections to it. ``net`` is the inode of the host's
    network namespace.
    """

    traffic: int
    openings: int
    net: int


class EmulatedNetwork(ClosedOnExit):
    """Handle of a running network."""

    def __init__(
        self,
        network: Network,
        *,
        keep: Sequence[Path],
        device: str,
        offload: bool,
        limitable: Mapping[str, Collection[str]],
        private: PrivateView | None = None,
    ) -> None:
        self.network = network
        self.not_private = ""
        self.device_kind = choose_device() if device == "auto" else device
        self.limits = HostLimits(network, limitable)
        self._fabric: Fabric | None = None
        ours, theirs = socket.socketpair()
        self._supervisor = SupervisorChannel(ours)
        control, control_theirs = socket.socketpair()
        life_read, self._life = os.pipe()
        self._keeper = self._start_keeper(theirs, control_theirs, life_read)
        try:
            built = self._supervisor.build(self._order(keep, offload, private), BUILD_TIMEOUT_S)
            self.not_private = built["not_private"]
            self._fabric = connect_fabric(control, timeout_s=BUILD_TIMEOUT_S)
            self._niceness = 0 if self._fabric.has_priority else LOW_PRIORITY_NICENESS
        except BaseException:
            control.close()
            self.close()
            if self.failure is not None:
                raise self.failure from None
            raise

    @property
    def fabric(self) -> Fabric:
        """The fabric that moves the packets of the network."""
        if self._fabric is None:
            raise Defect("the emulated network has no fabric yet")
        return self._fabric

    def _start_keeper(self, *channels: socket.socket | int) -> subprocess.Popen[bytes]:
        names = ("--socket", "--control", "--life")
        fds = [c if isinstance(c, int) else c.fileno() for c in channels]
        argv = own_python("-m", "stream2gym.hosts.keeper")
        for name, fd in zip(names, fds, strict=True):
            argv += [name, str(fd)]
        # Ctrl-C reaches the whole process group. The keeper inherits this mask, because its interpreter takes time to
        # start before it can ignore signals itself.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGQUIT})
        try:
            return subprocess.Popen(argv, pass_fds=fds)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            for channel in channels:
                os.close(channel) if isinstance(channel, int) else channel.close()

    def _order(self, keep: Sequence[Path], offload: bool, private: PrivateView | None) -> dict[str, Any]:
        """What the keeper and the supervisor need to build the network."""
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
            **self.limits.order(),
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
        """Start a program on a host. Its ``files`` are written to the host's storage first, by absolute path.

        ``env`` is added to the few variables that programs inherit. Without ``stdio`` it reads nothing and its output
        is dropped. Without ``niceness`` it gives way to the fabric if that has no priority of its own.
        """
        planned = next((one for one in self._all_hosts() if one.name == host), None)
        if planned is None:
            raise KeyError(host)
        environment = clean_environment(os.environ)
        environment |= {"S2G_HOST": host, "S2G_ADDRESS": planned.address, "S2G_WORK": WORK}
        environment |= dict(env or {})
        written = {path: base64.b64encode(content).decode() for path, content in (files or {}).items()}
        nice = self._niceness if niceness is None else niceness
        program = Program(tuple(argv), environment, str(cwd), terminal, nice, nice > 0, written)
        with contextlib.ExitStack() as stack:
            if stdio is None:
                null = os.open(os.devnull, os.O_RDWR)
                stack.callback(os.close, null)
                stdio = (null, null, null)
            return self._supervisor.spawn(host, name or Path(argv[0]).name, program.to_json(), stdio)

    def resume(self, process: Process) -> None:
        """Let a stopped foreground process continue, with the terminal."""
        self._supervisor.ask({"op": "resume", "process": process.number})

    def collect(self, target: Path) -> list[str]:
        """Copy what programs wrote in the private folder to ``target``. Returns the paths below the folder."""
        return list(self._supervisor.ask({"op": "collect", "target": str(target)})["files"])

    def tap(self, host: str, port: int) -> Tap:
        """Open sockets that are shown the TCP traffic of a port on a host, from when they are bound."""
        answer = self._supervisor.ask({"op": "tap", "host": host, "port": port})
        traffic, openings = answer["fds"]
        return Tap(traffic, openings, answer["net"])

    def wait(self, process: Process) -> Exit:
        """Wait for the process to end, and return how. If the network breaks meanwhile, its failure is raised."""
        over = threading.Event()
        process.when_ended(lambda _process: over.set())
        self.when_failed(lambda _failure: over.set())
        over.wait()
        exit_seen = process.poll()
        if exit_seen is None or (self.failure is not None and exit_seen.code < 0):
            raise self.failure or Defect("the emulated network broke")
        return exit_seen

    def usage(self) -> dict[int, dict[str, float]]:
        """CPU time, waits for a CPU and resident memory of every running program, by the number of its handle."""
        return {int(key): value for key, value in self._supervisor.ask({"op": "usage"})["processes"].items()}

    def host_usage(self) -> dict[str, dict[str, float]]:
        """Network, TCP, threads and open files of every host on which something runs, by its name."""
        found: dict[str, dict[str, float]] = self._supervisor.ask({"op": "hosts"})["hosts"]
        return found

    def host_memory(self) -> dict[str, int]:
        """Proportional memory, in bytes, of all programs on every host on which something runs, by its name."""
        [fd] = self._supervisor.ask({"op": "memory"})["fds"]
        with socket.socket(fileno=fd) as answers:
            answers.settimeout(MEMORY_TIMEOUT_S)
            try:
                text = b"".join(iter(lambda: answers.recv(65536), b""))
                found: dict[str, int] = json.loads(text)
            except (OSError, ValueError) as error:
                raise Defect(f"the memory of hosts could not be read: {error}") from error
        return found

    def listening(self, processes: Sequence[Process]) -> dict[int, list[str]]:
        """The addresses with ports on which these programs listen, by the number of the handle."""
        numbers = [process.number for process in processes]
        found = self._supervisor.ask({"op": "listening", "processes": numbers})["listening"]
        return {int(number): list(places) for number, places in found.items()}

    def name_components(self, names: Mapping[str, str]) -> None:
        """Let the names of components resolve to the address of their host, on every host, from now on.

        ``names`` has the host of each component.
        """
        self._supervisor.ask({"op": "names", "names": dict(names)})

    def power_off(self, host: str) -> None:
        """Kill everything that runs on the host, at once. Programs can be started there again."""
        self._supervisor.ask({"op": "power-off", "host": host})

    def fill_disk(self, host: str, leave_bytes: int) -> None:
        """Shrink the host's storage so that only ``leave_bytes`` stay free."""
        self._supervisor.ask({"op": "resize", "host": host, "leave": leave_bytes})

    def free_disk(self, host: str) -> None:
        """Restore the planned size of the host's storage."""
        self._supervisor.ask({"op": "resize", "host": host, "leave": None})

    def limit(self, host: str, *, cpu_share: float | None = None, memory_bytes: int | None = None) -> None:
        """Change limits of a host. CannotHere says that it has no such limit, or that limits cannot be set here."""
        for name, wanted in (("cpu", cpu_share), ("memory", memory_bytes)):
            if wanted is not None:
                self.limits.change(host, name, wanted)

    def unlimit(self, host: str, name: str) -> None:
        """Restore the planned limit of a host; ``name`` is cpu or memory."""
        self.limits.restore(host, name)

    def when_failed(self, listener: Callable[[S2gError], None]) -> None:
        """Call the listener when the network breaks: the fabric or the supervisor has died."""
        self._supervisor.when_failed(listener)

    @property
    def failure(self) -> S2gError | None:
        """Why the network is broken, or None."""
        return self._supervisor.failure

    def close(self) -> None:
        """End the network. Returns when the last process of the run has ended."""
        self._supervisor.expect_end()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        self._wait_for_keeper()
        self.limits.remove()
        self._supervisor.close()
        if self._fabric is not None:
            self._fabric.close()

    def _wait_for_keeper(self) -> None:
        """Wait until the last process has ended. A keeper that takes too long is killed, which ends them all."""
        try:
            self._keeper.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._keeper.wait(CLOSE_TIMEOUT_S)

    def _all_hosts(self) -> list[Any]:
        return [*self.network.hosts, *filter(None, [self.network.observer])]
