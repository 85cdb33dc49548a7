"""Which class does which kind of fault: the built-in ones and those of plug-ins.

A plug-in is an ``Action`` with its ``KIND`` as a class attribute, named by an entry point of ``stream2gym.faults``.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from stream2gym.errors import Defect
from stream2gym.faults import host_faults, kafka_faults, link_faults, network_faults, process_faults
from stream2gym.faults.base import Action

BUILT_IN: dict[str, type[Action]] = {
    "down": link_faults.Down,
    "flap": link_faults.Flap,
    "degrade": link_faults.Degrade,
    "ramp": link_faults.Ramp,
    "partition": network_faults.Partition,
    "isolate": network_faults.Isolate,
    "switch-down": network_faults.SwitchDown,
    "move": network_faults.Move,
    "kill": process_faults.Kill,
    "stop": process_faults.Stop,
    "pause": process_faults.Pause,
    "restart": process_faults.Restart,
    "crash-loop": process_faults.CrashLoop,
    "host-off": host_faults.HostOff,
    "cpu": host_faults.Cpu,
    "memory": host_faults.Memory,
    "disk-full": host_faults.DiskFull,
    "move-leader": kafka_faults.MoveLeader,
    "reassign": kafka_faults.Reassign,
    "delete-records": kafka_faults.DeleteRecords,
    "delete-topic": kafka_faults.DeleteTopic,
}


def action_class(kind: str) -> type[Action]:
    """The class of a kind; those whose kind exists always have one."""
    found = BUILT_IN.get(kind) or _plugged().get(kind)
    if found is None:
        raise Defect(f"no class does the fault {kind!r}")
    return found


@cache
def _plugged() -> dict[str, type[Action]]:
    found: dict[str, type[Action]] = {}
    for entry in entry_points(group="stream2gym.faults"):
        try:
            loaded = entry.load()
        except Exception:  # named as broken by the registry of kinds
            continue
        if isinstance(loaded, type) and issubclass(loaded, Action) and hasattr(loaded, "KIND"):
            found[loaded.KIND.name] = loaded
    return found
