"""The supervisor: PID 1 of the run. It builds the hosts, starts the fabric and processes, and reaps them all.

It speaks with the command over one socket: requests carry an ``id`` and get one answer; ``exit`` and ``fabric``
messages come by themselves. It runs single-threaded, because entering mount namespaces demands it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from typing import Any, NoReturn

from stream2gym import linux
from stream2gym.fabric.userspace import devices
from stream2gym.hosts import keeper, wire
from stream2gym.hosts.launch import LaunchError, Program, give_terminal, launch
from stream2gym.hosts.machine import Home, Machine
from stream2gym.hosts.private import Private
from stream2gym.plan.model import Network, PlannedHost


def run(sock: socket.socket, control: int, alive: int, order: dict[str, Any]) -> NoReturn:
    """Live until the command, the keeper or a ``stop`` ends it; then exit, and the PID namespace with us."""
    linux.die_with_parent()
    code = 3
    try:
        if not select.select([alive], [], [], 0)[0]:
            Supervisor(sock, control, alive, order).serve()
            code = 0
    except OSError as error:
        with contextlib.suppress(OSError):
            wire.send(sock, keeper.explain(error))
    finally:
        os._exit(code)


class Supervisor:
    """All that the run holds inside its namespaces."""

    def __init__(self, sock: socket.socket, control: int, alive: int, order: dict[str, Any]) -> None:
        linux.name_process("s2g-supervisor")
        self._open_files = _raise_file_limit()
        self._sock = sock
        self._alive = alive
        self._network = Network.from_json(order["network"])
        self._keep: list[str] = order["keep"]
        self._groups: dict[str, list[str]] = order["groups"]
        self._wakeup, wakeup_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
        linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
        linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
        self._private = Private.from_json(order["private"]) if order["private"] else None
        not_private = self._private.mount() if self._private else ""
        self._home = Home()
        self._hosts_file = hosts_file(self._network)
        self._machines, fds = self._build(order["device_kind"], order["offload"])
        self._fabric = self._start_fabric(control, fds, order)
        self._children: dict[int, int] = {}  # PID to the id of the process handle
        built = {"hosts": len(self._machines), "fabric": self._fabric.pid, "not_private": not_private}
        wire.send(sock, {"op": "built", **built})

    def _build(self, kind: str, offload: bool) -> tuple[dict[str, Machine], dict[str, int]]:
        everyone = [*self._network.hosts, *filter(None, [self._network.observer])]
        machines, fds = {}, {}
        try:
            for host in everyone:
                linux.unshare(linux.CLONE_NEWNET)
                machine = Machine(
                    host.name, host.address, os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
                )
                machine.groups = self._groups.get(host.name, [])
                machine.disk_bytes = host.disk_bytes
                machines[host.name] = machine
                fds[host.name] = self._device(kind, host, machine, offload)
        finally:
            linux.setns(self._home.net, linux.CLONE_NEWNET)
        return machines, fds

    def _device(self, kind: str, host: PlannedHost, machine: Machine, offload: bool) -> int:
        return devices.open_device(
            kind,
            host.interface,
            host.address,
            self._network.prefix_length,
            host.mtu,
            host_net=machine.net,
            fabric_net=self._home.net,
            offload=offload,
        )

    def _start_fabric(
        self, control: int, fds: dict[str, int], order: dict[str, Any]
    ) -> subprocess.Popen[bytes]:
        spec_read, spec_write = os.pipe()
        argv = [sys.executable, "-m", "stream2gym.fabric.userspace.main"]
        argv += ["--control-fd", str(control), "--spec-fd", str(spec_read)]
        fabric = subprocess.Popen(
            argv,
            pass_fds=[control, spec_read, *fds.values()],
            stdin=subprocess.DEVNULL,
            stdout=2,
            cwd="/",
            start_new_session=True,
        )
        os.close(spec_read)
        spec = {
            "network": order["network"],
            "devices": fds,
            "device_kind": order["device_kind"],
            "offload": order["offload"],
        }
        with os.fdopen(spec_write, "w") as pipe:
            json.dump(spec, pipe)
        for fd in (control, *fds.values()):
            os.close(fd)
        return fabric

    def serve(self) -> None:
        """Answer until the other side is gone."""
        poll = select.poll()
        for source in (self._sock.fileno(), self._alive, self._wakeup):
            poll.register(source, select.POLLIN)
        while True:
            ready = {source for source, _events in poll.poll()}
            if self._wakeup in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wakeup, 4096)
                self._reap()
            if self._alive in ready:
                return
            if self._sock.fileno() in ready and not self._answer():
                return

    def _answer(self) -> bool:
        received = wire.receive(self._sock)
        if received is None:
            return False
        request, fds = received
        try:
            answer = self._do(request, fds)
        except (LaunchError, OSError, KeyError) as error:
            answer = {"error": str(error)}
        finally:
            for fd in fds:
                os.close(fd)
        wire.send(self._sock, {"op": "answer", "id": request["id"], **answer})
        return True

    def _do(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        match request["op"]:
            case "spawn":
                machine = self._machines[request["host"]]
                machine.furnish(self._home, self._hosts_file, self._keep)
                pid = launch(machine, Program.from_json(request["program"]), fds, self._open_files)
                self._children[pid] = request["id"]
                return {"pid": pid}
            case "signal":
                return {"sent": self._signal(request["process"], request["signal"])}
            case "resume":
                pid = self._pid_of(request["process"])
                give_terminal(0, pid)
                os.killpg(pid, signal.SIGCONT)
                return {}
            case "resize":
                machine = self._machines[request["host"]]
                return {"bytes": machine.resize(self._home, request["leave"])}
            case "collect":
                return {"files": self._private.collect(request["target"]) if self._private else []}
            case "usage":
                return {"processes": {str(self._children[pid]): _usage(pid) for pid in list(self._children)}}
        raise KeyError(f"unknown request {request['op']!r}")

    def _signal(self, process: int, number: int) -> bool:
        if process not in self._children.values():
            return False
        os.kill(self._pid_of(process), number)
        return True

    def _pid_of(self, process: int) -> int:
        """The PID of a child that is not reaped yet: the number still means it, no one else can have it."""
        return next(pid for pid, handle in self._children.items() if handle == process)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                if pid in self._children:
                    wire.send(self._sock, {"op": "stopped", "process": self._children[pid]})
                continue
            code = os.waitstatus_to_exitcode(status)
            if pid == self._fabric.pid:
                wire.send(self._sock, {"op": "fabric", "code": code})
            elif pid in self._children:
                message = {"op": "exit", "process": self._children.pop(pid), "code": code}
                message |= {"cpu_s": usage.ru_utime + usage.ru_stime, "max_rss_bytes": usage.ru_maxrss * 1024}
                wire.send(self._sock, message)


def hosts_file(network: Network) -> str:
    """The ``/etc/hosts`` of every host."""
    lines = ["127.0.0.1 localhost", *(f"{host.address} {host.name}" for host in network.hosts)]
    return "\n".join(lines) + "\n"


def _raise_file_limit() -> tuple[int, int]:
    """A large topology needs a few descriptors a host; returns the limits as the user had them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft, hard


def _usage(pid: int) -> dict[str, float]:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return {
        "cpu_s": (int(fields[11]) + int(fields[12])) / ticks,
        "rss_bytes": int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
    }
