"""Which class does which kind of fault: built-in kinds and those of plug-ins.

A plug-in is an ``Action`` whose class attribute ``KIND`` declares it. An entry point of the group
``stream2gym.faults`` names the class.
"""

from __future__ import annotations

from stream2gym.errors import Defect
from stream2gym.faults.action import Action
from stream2gym.faults.kinds.cpu import CpuFault
from stream2gym.faults.kinds.crash_loop import CrashLoopFault
from stream2gym.faults.kinds.degrade import DegradeFault
from stream2gym.faults.kinds.delete_records import DeleteRecordsFault
from stream2gym.faults.kinds.delete_topic import DeleteTopicFault
from stream2gym.faults.kinds.disk_full import DiskFullFault
from stream2gym.faults.kinds.down import DownFault
from stream2gym.faults.kinds.flap import FlapFault
from stream2gym.faults.kinds.host_off import HostOffFault
from stream2gym.faults.kinds.isolate import IsolateFault
from stream2gym.faults.kinds.kill import KillFault
from stream2gym.faults.kinds.memory import MemoryFault
from stream2gym.faults.kinds.move import MoveFault
from stream2gym.faults.kinds.move_leader import MoveLeaderFault
from stream2gym.faults.kinds.partition import PartitionFault
from stream2gym.faults.kinds.pause import PauseFault
from stream2gym.faults.kinds.ramp import RampFault
from stream2gym.faults.kinds.reassign import ReassignFault
from stream2gym.faults.kinds.restart import RestartFault
from stream2gym.faults.kinds.stop import StopFault
from stream2gym.faults.kinds.switch_down import SwitchDownFault
from stream2gym.kinds.registry import registry

BUILT_IN: dict[str, type[Action]] = {
    "down": DownFault,
    "flap": FlapFault,
    "degrade": DegradeFault,
    "ramp": RampFault,
    "partition": PartitionFault,
    "isolate": IsolateFault,
    "switch-down": SwitchDownFault,
    "move": MoveFault,
    "kill": KillFault,
    "stop": StopFault,
    "pause": PauseFault,
    "restart": RestartFault,
    "crash-loop": CrashLoopFault,
    "host-off": HostOffFault,
    "cpu": CpuFault,
    "memory": MemoryFault,
    "disk-full": DiskFullFault,
    "move-leader": MoveLeaderFault,
    "reassign": ReassignFault,
    "delete-records": DeleteRecordsFault,
    "delete-topic": DeleteTopicFault,
}


def action_class(kind: str) -> type[Action]:
    """The class that does a kind of fault."""
    found = BUILT_IN.get(kind) or registry("fault").plug_in_class(kind, Action)
    if found is None:
        raise Defect(f"no class does the fault {kind!r}")
    return found
