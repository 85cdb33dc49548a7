"""Which class does which kind of fault: the built-in ones and those of plug-ins.

A plug-in is an ``Action`` with its ``KIND`` as a class attribute, named by an entry point of ``stream2gym.faults``.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from stream2gym.errors import Defect
from stream2gym.faults.base import Action
from stream2gym.faults.kinds.cpu import Cpu
from stream2gym.faults.kinds.crash_loop import CrashLoop
from stream2gym.faults.kinds.degrade import Degrade
from stream2gym.faults.kinds.delete_records import DeleteRecords
from stream2gym.faults.kinds.delete_topic import DeleteTopic
from stream2gym.faults.kinds.disk_full import DiskFull
from stream2gym.faults.kinds.down import Down
from stream2gym.faults.kinds.flap import Flap
from stream2gym.faults.kinds.host_off import HostOff
from stream2gym.faults.kinds.isolate import Isolate
from stream2gym.faults.kinds.kill import Kill
from stream2gym.faults.kinds.memory import Memory
from stream2gym.faults.kinds.move import Move
from stream2gym.faults.kinds.move_leader import MoveLeader
from stream2gym.faults.kinds.partition import Partition
from stream2gym.faults.kinds.pause import Pause
from stream2gym.faults.kinds.ramp import Ramp
from stream2gym.faults.kinds.reassign import Reassign
from stream2gym.faults.kinds.restart import Restart
from stream2gym.faults.kinds.stop import Stop
from stream2gym.faults.kinds.switch_down import SwitchDown

BUILT_IN: dict[str, type[Action]] = {
    "down": Down,
    "flap": Flap,
    "degrade": Degrade,
    "ramp": Ramp,
    "partition": Partition,
    "isolate": Isolate,
    "switch-down": SwitchDown,
    "move": Move,
    "kill": Kill,
    "stop": Stop,
    "pause": Pause,
    "restart": Restart,
    "crash-loop": CrashLoop,
    "host-off": HostOff,
    "cpu": Cpu,
    "memory": Memory,
    "disk-full": DiskFull,
    "move-leader": MoveLeader,
    "reassign": Reassign,
    "delete-records": DeleteRecords,
    "delete-topic": DeleteTopic,
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
