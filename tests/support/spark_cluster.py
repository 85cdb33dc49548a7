"""A Spark standalone cluster on loopback, started from PySpark's wheel: a master and workers."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stream2gym.software import child_process
from stream2gym.software.loopback_broker import free_ports
from stream2gym.software.spark_software import MASTER, WORKER, SparkSoftware
from stream2gym.wait import wait_until
from tests.support.leaks import MARK

HEAP_MB = 256
START_S = 120.0
EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass
class SparkCluster:
    """A master, and workers that can be added and ended."""

    folder: Path
    software: SparkSoftware
    undo: contextlib.ExitStack
    url: str = ""
    workers: list[Path] = field(default_factory=list)

    def start_master(self) -> None:
        [port, page] = free_ports(2)
        self.url = f"spark://127.0.0.1:{port}"
        words = ["--host", "127.0.0.1", "--webui-port", str(page), "--port", str(port)]
        self._start("master", [*self._java(MASTER), *words], "New state: ALIVE")

    def add_worker(self, cores: int = 2, *, prefix: Sequence[str] = ()) -> Path:
        """Start a worker, below a command if there is a prefix. Returns the folder of what its executors write."""
        [page] = free_ports(1)
        work = self.folder / f"work{len(self.workers)}"
        work.mkdir()
        words = ["--host", "127.0.0.1", "--webui-port", str(page), "--cores", str(cores), "--memory", "1g"]
        command = [*prefix, *self._java(WORKER), *words, "--work-dir", str(work), self.url]
        self._start(work.name, command, "Successfully registered with master")
        self.workers.append(work)
        return work

    def _java(self, main_class: str) -> list[str]:
        return self.software.command(main_class, heap_mb=HEAP_MB)

    def _start(self, name: str, command: Sequence[str], sign: str) -> None:
        log = self.folder / f"{name}.log"
        process = child_process.start(command, log, self.folder)
        self.undo.callback(child_process.end, process)
        wait_until(lambda: sign in log.read_text(errors="replace"), timeout_s=START_S, reason=f"{sign!r} in {log}")


@contextlib.contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    """A master without workers. It, and the workers that are added, end with the block.

    Until then the environment of this process is that of everything that speaks to the cluster.
    """
    software = SparkSoftware.ensure()
    local = folder / "local"
    local.mkdir()
    name, _, value = MARK.partition("=")
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(local), name: value}
    with contextlib.ExitStack() as undo, _set(os.environ, {**software.environment, **own}):
        cluster = SparkCluster(folder, software, undo)
        cluster.start_master()
        yield cluster


@contextlib.contextmanager
def _set(environment: os._Environ[str], values: Mapping[str, str]) -> Iterator[None]:
    before = {name: environment.get(name) for name in values}
    environment.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value


def find_processes(text: str) -> list[int]:
    """Processes of this cluster, and of commands that use it, with a text in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            command = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in command and MARK.encode() in Path("/proc", pid, "environ").read_bytes():
                found.append(int(pid))
    return found


FORBID_NAMESPACES = """
import os, sys
from stream2gym import linux
uid, gid = os.getuid(), os.getgid()
linux.unshare(linux.CLONE_NEWUSER)
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"{uid} {uid} 1")
open("/proc/self/gid_map", "w").write(f"{gid} {gid} 1")
for kind in ("user", "net"):
    open(f"/proc/sys/user/max_{kind}_namespaces", "w").write("0")
os.execv(sys.argv[1], sys.argv[1:])
"""


def without_namespaces() -> list[str]:
    """The prefix of a command that may not make namespaces, and neither may what it starts."""
    return [sys.executable, "-c", FORBID_NAMESPACES]
