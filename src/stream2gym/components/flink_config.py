"""The configuration of Flink's processes: ours, overridden by the experiment's. Pure.

Every process gets a ``config.yaml`` of its own. What a program sets itself takes precedence over it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stream2gym.spec.model import Engine

MB = 1024**2
# How often Flink gathers the numbers of its tasks; ten seconds by default.
METRICS_EVERY_MS = 500
# How many times, and how long after a failure, the job of a cluster begins again by itself.
RESTARTS = 20
RESTART_DELAY_S = 1
_PORTS_PER_PROCESS = 10
# What a task manager needs besides the heap of its tasks.
_FRAMEWORK_MB = 128
_NETWORK_MB = 32
_MANAGED_MB = 32
_SLOTS_PER_NETWORK = 2


@dataclass(frozen=True)
class Ports:
    """The ports of one process of Flink. No two processes of a run have the same."""

    rest: int
    rpc: int
    blob: int
    data: int

    @classmethod
    def of(cls, number: int) -> Ports:
        """The ports of the process with this number, from 0."""
        base = 6120 + _PORTS_PER_PROCESS * number
        return cls(8081 + number, base + 3, base + 4, base + 1)


def number_of_process(name: str, engines: Sequence[Engine]) -> int:
    """How many other engines of Flink come before this one, on whatever hosts: a job may be moved to another host."""
    return [str(engine.name) for engine in engines if engine.type.lower().startswith("flink")].index(name)


def _program(name: str, parallelism: int, checkpoints: str, every_s: float, restore: str | None) -> dict[str, str]:
    """What the job itself is configured with."""
    found = {
        "pipeline.name": name,
        "parallelism.default": str(parallelism),
        "metrics.fetcher.update-interval": f"{METRICS_EVERY_MS} ms",
        "metrics.latency.granularity": "operator",
        "state.backend.type": "hashmap",
        "execution.checkpointing.dir": checkpoints,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.num-retained": "2",
        "web.refresh-interval": str(METRICS_EVERY_MS),
        "security.delegation.tokens.enabled": "false",
    }
    if every_s > 0:
        found["execution.checkpointing.interval"] = f"{round(every_s * 1000)} ms"
    if restore is not None:
        found["execution.state-recovery.path"] = restore
    return found


def mini_config(
    *,
    name: str,
    ports: Ports,
    parallelism: int,
    checkpoints: str,
    checkpoint_every_s: float,
    restore: str | None,
    scratch: str,
) -> dict[str, str]:
    """A mini-cluster in one process. Its job ends with its first failure, as one of another engine would."""
    return {
        **_program(name, parallelism, checkpoints, checkpoint_every_s, restore),
        "execution.target": "local",
        "execution.attached": "true",
        "restart-strategy.type": "disable",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "0.0.0.0",
        "rest.port": str(ports.rest),
        "rest.bind-port": str(ports.rest),
        "taskmanager.numberOfTaskSlots": str(parallelism),
        "taskmanager.memory.network.min": f"{_network_mb(parallelism)}m",
        "taskmanager.memory.network.max": f"{_network_mb(parallelism)}m",
        "taskmanager.memory.managed.size": f"{_MANAGED_MB}m",
        "io.tmp.dirs": scratch,
    }


def _cluster(address: str, ports: Ports) -> dict[str, str]:
    """What both sides of a cluster know. The address and the ports are those of the job manager."""
    return {
        "jobmanager.rpc.address": address,
        "jobmanager.rpc.port": str(ports.rpc),
        "blob.server.port": str(ports.blob),
        # The default of 10 s costs 10 s whenever a task manager is up before the job manager.
        "cluster.registration.error-delay": "200 ms",
        "cluster.registration.initial-timeout": "200 ms",
        "cluster.registration.max-timeout": "2 s",
        # A process that is paused or cut off is noticed after 10 s instead of 50.
        "heartbeat.interval": "2 s",
        "heartbeat.timeout": "10 s",
        "security.delegation.tokens.enabled": "false",
    }


def job_manager_config(
    *,
    name: str,
    address: str,
    ports: Ports,
    parallelism: int,
    checkpoints: str,
    checkpoint_every_s: float,
    restore: str | None,
    scratch: str,
) -> dict[str, str]:
    """A job manager in application mode. Its job survives the death of task managers."""
    return {
        **_program(name, parallelism, checkpoints, checkpoint_every_s, restore),
        **_cluster(address, ports),
        "jobmanager.bind-host": "0.0.0.0",
        "rest.address": address,
        "rest.bind-address": "0.0.0.0",
        "rest.port": str(ports.rest),
        "rest.bind-port": str(ports.rest),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": str(RESTARTS),
        "restart-strategy.fixed-delay.delay": f"{RESTART_DELAY_S} s",
        "io.tmp.dirs": scratch,
    }


def task_manager_config(
    *, address: str, manager: str, manager_ports: Ports, ports: Ports, slots: int, heap_mb: int, scratch: str
) -> dict[str, str]:
    """A task manager at ``address`` whose job manager is at ``manager``."""
    return {
        **_cluster(manager, manager_ports),
        "taskmanager.host": address,
        "taskmanager.bind-host": "0.0.0.0",
        "taskmanager.rpc.port": str(ports.rpc),
        "taskmanager.data.port": str(ports.data),
        "taskmanager.numberOfTaskSlots": str(slots),
        "taskmanager.cpu.cores": str(float(slots)),
        # All of these must be given where no script of Flink computes them.
        "taskmanager.memory.framework.heap.size": f"{_FRAMEWORK_MB}m",
        "taskmanager.memory.framework.off-heap.size": f"{_FRAMEWORK_MB}m",
        "taskmanager.memory.jvm-metaspace.size": "256m",
        "taskmanager.memory.jvm-overhead.min": "192m",
        "taskmanager.memory.jvm-overhead.max": "192m",
        "taskmanager.memory.task.heap.size": f"{max(1, heap_mb - _FRAMEWORK_MB)}m",
        "taskmanager.memory.task.off-heap.size": "0m",
        "taskmanager.memory.network.min": f"{_network_mb(slots)}m",
        "taskmanager.memory.network.max": f"{_network_mb(slots)}m",
        "taskmanager.memory.managed.size": f"{_MANAGED_MB}m",
        "io.tmp.dirs": scratch,
    }


def config_yaml(own: Mapping[str, str], given: Mapping[str, str]) -> bytes:
    """The text of a ``config.yaml``. What the experiment gives replaces what we set."""
    return "".join(f"{json.dumps(key)}: {json.dumps(value)}\n" for key, value in {**own, **given}.items()).encode()


def _network_mb(slots: int) -> int:
    """Memory for the buffers between tasks; every task needs some for each of its partners."""
    return _NETWORK_MB * max(1, -(-slots // _SLOTS_PER_NETWORK))
