"""The supervisor: PID 1 of the run. It builds the hosts, starts the fabric and programs, and reaps all processes.

It talks with the command over one socket. A request has an ``id`` and gets one answer; the messages ``exit``,
``stopped`` and ``fabric`` are sent without a request. It has one thread, because only a process with one thread can
enter mount namespaces.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
from collections.abc import Mapping
from typing import Any, NoReturn

from stream2gym import linux
from stream2gym.fabric.chosen import FABRIC_PROGRAM, open_counters, open_device
from stream2gym.hosts import supervisor_messages
from stream2gym.hosts.emulated_host import EmulatedHost, OwnNamespaces, open_namespace
from stream2gym.hosts.host_usage import HostUsage, count_threads_and_files, read_memory_in_child
from stream2gym.hosts.launch import LaunchError, Program, give_terminal, launch
from stream2gym.hosts.listening import find_listening
from stream2gym.hosts.packet_socket import open_packet_socket
from stream2gym.hosts.private_view import PrivateView
from stream2gym.hosts.program_trees import ProgramTrees
from stream2gym.hosts.refusals import explain_refusal
from stream2gym.own_python import own_python
from stream2gym.plan.planned import Network, PlannedHost

# The name of the fabric's own namespace among the hosts. The far ends of veth devices are there.
FABRIC = ""
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def run(sock: socket.socket, control: int, alive: int, order: dict[str, Any]) -> NoReturn:
    """Serve until the command or the keeper has ended, then exit, which ends the PID namespace."""
    linux.die_with_parent()
    code = 3
    try:
        if not select.select([alive], [], [], 0)[0]:
            Supervisor(sock, control, alive, order).serve()
            code = 0
    except OSError as error:
        with contextlib.suppress(OSError):
            supervisor_messages.send(sock, explain_refusal(error))
    finally:
        os._exit(code)


class Supervisor:
    """The hosts, the fabric and the programs of a run, inside its namespaces."""

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
        self._private = PrivateView.from_json(order["private"]) if order["private"] else None
        not_private = self._private.mount() if self._private else ""
        self._own = OwnNamespaces()
        self._usage = HostUsage(self._own)
        self._hosts_file = hosts_file(self._network)
        self._hosts, fds, counters = self._build(order["device_kind"], order["offload"])
        self._fabric = self._start_fabric(control, fds, counters, order)
        # Processes that belong to no program: the supervisor itself, the fabric and the inits of hosts.
        self._ours = {os.getpid(), self._fabric.pid}
        self._programs = ProgramTrees(self._ours)
        built = {"hosts": len(self._hosts), "fabric": self._fabric.pid, "not_private": not_private}
        supervisor_messages.send(sock, {"op": "built", **built})

    def _build(self, kind: str, offload: bool) -> tuple[dict[str, EmulatedHost], dict[str, int], dict[str, int]]:
        """Build every host. Returns the hosts, and the descriptors of their devices and of the devices' counters."""
        everyone = [*self._network.hosts, *filter(None, [self._network.observer])]
        hosts: dict[str, EmulatedHost] = {}
        fds: dict[str, int] = {}
        counters: dict[str, int] = {}
        try:
            for planned in everyone:
                linux.unshare(linux.CLONE_NEWNET)
                host = EmulatedHost(planned.name, planned.address, open_namespace("net"))
                host.groups = self._groups.get(planned.name, [])
                host.disk_bytes = planned.disk_bytes
                hosts[planned.name] = host
                fds[planned.name] = self._open_device(kind, planned, host, offload)
                counters[planned.name] = open_counters()
        finally:
            linux.setns(self._own.net, linux.CLONE_NEWNET)
        if kind == "veth":
            counters[FABRIC] = open_counters()
        return hosts, fds, counters

    def _open_device(self, kind: str, planned: PlannedHost, host: EmulatedHost, offload: bool) -> int:
        """The descriptor of the device through which the packets of a host go."""
        return open_device(
            kind,
            planned.interface,
            planned.address,
            self._network.prefix_length,
            planned.mtu,
            host_net=host.net,
            fabric_net=self._own.net,
            offload=offload,
        )

    def _start_fabric(
        self, control: int, fds: dict[str, int], counters: dict[str, int], order: dict[str, Any]
    ) -> subprocess.Popen[bytes]:
        spec_read, spec_write = os.pipe()
        argv = own_python("-m", FABRIC_PROGRAM)
        argv += ["--control-fd", str(control), "--spec-fd", str(spec_read)]
        fabric = subprocess.Popen(
            argv,
            pass_fds=[control, spec_read, *fds.values(), *counters.values()],
            stdin=subprocess.DEVNULL,
            stdout=2,
            cwd="/",
            start_new_session=True,
        )
        os.close(spec_read)
        spec = {
            "network": order["network"],
            "devices": fds,
            "counters": counters,
            "device_kind": order["device_kind"],
            "offload": order["offload"],
        }
        with os.fdopen(spec_write, "w") as pipe:
            json.dump(spec, pipe)
        for fd in (control, *fds.values(), *counters.values()):
            os.close(fd)
        return fabric

    def serve(self) -> None:
        """Answer requests and reap processes until the command or the keeper has ended."""
        while True:
            poll = select.poll()
            for source in (
                self._sock.fileno(),
                self._alive,
                self._wakeup,
                *self._programs.status_pipes(),
            ):
                poll.register(source, select.POLLIN)
            ready = {source for source, _events in poll.poll(self._programs.wait_ms())}
            self._programs.note_statuses(ready)
            self._programs.sweep()
            if self._wakeup in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wakeup, 4096)
                self._reap()
            if self._alive in ready:
                return
            if self._sock.fileno() in ready and not self._answer():
                return

    def _answer(self) -> bool:
        received = supervisor_messages.receive(self._sock)
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
        sockets: list[socket.socket] = answer.pop("sockets", [])
        supervisor_messages.send(
            self._sock, {"op": "answer", "id": request["id"], **answer}, [one.fileno() for one in sockets]
        )
        for one in sockets:
            one.close()
        return True

    def _do(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        match request["op"]:
            case "spawn":
                return {"pid": self._spawn(request, fds)}
            case "signal":
                return {"sent": self._programs.signal(request["process"], request["signal"])}
            case "resume":
                tree = self._programs.find(request["process"])
                if tree is not None:
                    give_terminal(0, tree.launched.main)
                    os.killpg(tree.launched.main, signal.SIGCONT)
                return {}
            case "power-off":
                return {"init": self._power_off(self._hosts[request["host"]])}
            case "resize":
                host = self._hosts[request["host"]]
                return {"bytes": host.resize(self._own, request["leave"])}
            case "collect":
                return {"files": self._private.collect(request["target"]) if self._private else []}
            case "usage":
                return {"processes": self._programs.usage()}
            case "hosts":
                return {"hosts": self._read_hosts()}
            case "memory":
                return {"sockets": [read_memory_in_child(self._processes_by_host)]}
            case "listening":
                handles = request["processes"]
                return {"listening": {str(one): find_listening(self._programs.processes_of(one)) for one in handles}}
            case "names":
                self._name_components(request["names"])
                return {}
            case "tap":
                return self._tap(self._hosts[request["host"]], request["port"])
        raise KeyError(f"unknown request {request['op']!r}")

    def _spawn(self, request: dict[str, Any], fds: list[int]) -> int:
        """Start a program. Returns its PID on the host."""
        host = self._hosts[request["host"]]
        host.set_up(self._own, self._hosts_file, self._keep)
        self._ours.add(host.init)
        program = Program.from_json(request["program"])
        launched = launch(host, self._own, program, fds, self._open_files)
        self._programs.add(request["id"], host.init, launched)
        return launched.pid_on_host

    def _name_components(self, names: dict[str, str]) -> None:
        """Let the names of components resolve to their hosts, on every host."""
        self._hosts_file = hosts_file(self._network, names)
        for host in self._hosts.values():
            host.rewrite_hosts_file(self._own, self._hosts_file)

    def _read_hosts(self) -> dict[str, dict[str, float]]:
        """What each host uses on which something runs; the observer is not among them."""
        table, pids = self._programs.processes_by_init()
        return {
            host.name: self._usage.read_network(host) | count_threads_and_files(pids.get(host.init, ()), table)
            for host in self._hosts_in_use()
        }

    def _hosts_in_use(self) -> list[EmulatedHost]:
        hidden = self._network.observer.name if self._network.observer else None
        return [host for name, host in self._hosts.items() if host.init and name != hidden]

    def _processes_by_host(self) -> dict[str, list[int]]:
        """The processes of every host on which something runs."""
        pids = self._programs.processes_by_init()[1]
        return {host.name: pids.get(host.init, []) for host in self._hosts_in_use()}

    def _tap(self, host: EmulatedHost, port: int) -> dict[str, Any]:
        """Packet sockets on the host: for the traffic of a port, and for the beginnings of connections to it."""
        linux.setns(host.net, linux.CLONE_NEWNET)
        try:
            sockets = [open_packet_socket(port), open_packet_socket(port, only_openings=True)]
        finally:
            linux.setns(self._own.net, linux.CLONE_NEWNET)
        return {"sockets": sockets, "net": os.fstat(host.net).st_ino}

    def _power_off(self, host: EmulatedHost) -> int:
        init = host.power_off()
        if init:
            self._programs.host_dies(init)
        return init

    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                handle = self._programs.handle_of(pid)
                if handle is not None:
                    supervisor_messages.send(self._sock, {"op": "stopped", "process": handle})
                continue
            if pid == self._fabric.pid:
                supervisor_messages.send(self._sock, {"op": "fabric", "code": os.waitstatus_to_exitcode(status)})
            for message in self._programs.reaped(pid, status, used):
                supervisor_messages.send(self._sock, message)
            self._forget(pid)

    def _forget(self, pid: int) -> None:
        """Forget an init that ended. The next program of its host gets another one."""
        self._ours.discard(pid)
        for host in self._hosts.values():
            if host.init == pid:
                host.forget_init()


def hosts_file(network: Network, components: Mapping[str, str] | None = None) -> str:
    """The ``/etc/hosts`` of every host. ``components`` are further names, each with the host that it stands for.

    A host keeps its name, whatever a component is called. A name that is no host name is left out.
    """
    own = {"localhost", *(host.name for host in network.hosts)}
    further: dict[str, list[str]] = {}
    for name, host_name in (components or {}).items():
        if name not in own and _HOST_NAME.fullmatch(name):
            further.setdefault(host_name, []).append(name)
    lines = [" ".join([host.address, host.name, *further.get(host.name, ())]) for host in network.hosts]
    return "\n".join(["127.0.0.1 localhost", *lines]) + "\n"


def _raise_file_limit() -> tuple[int, int]:
    """Raise the limit of open files, because each host needs a few descriptors. Returns the limits as they were."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft, hard
