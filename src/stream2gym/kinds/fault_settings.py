"""The kinds of faults and the settings of each kind. The classes in ``stream2gym.faults.kinds`` apply them."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field, model_validator

from stream2gym.kinds.kind import Kind
from stream2gym.kinds.link_settings import LinkChange
from stream2gym.kinds.settings import Model, NoSettings, Texts, Whole
from stream2gym.units import Duration, Share, Size

LINK = frozenset(("link",))
HOST = frozenset(("host",))
SWITCH = frozenset(("switch",))
COMPONENT = frozenset(("component",))
TOPIC = frozenset(("topic",))
NOTHING = frozenset(("nothing",))

# In a ring of fewer hosts every host reaches all others.
RING_LEAST = 5

Ways = Literal["both", "forward", "backward"]


class DownSettings(Model):
    """Links carry nothing, in both directions or in one."""

    ways: Ways = "both"


class FlapSettings(Model):
    """Links go down and up in turn. ``duty`` is the share of each period that they are down."""

    period: Duration = Duration(1.0)
    duty: Share = Share(0.5)
    ways: Ways = "both"


class DegradeSettings(LinkChange):
    """Links get other settings while the fault is in force."""

    ways: Ways = "both"

    @model_validator(mode="after")
    def _changes_something(self) -> DegradeSettings:
        if all(getattr(self, name) is None for name in LinkChange.model_fields):
            raise ValueError("changes nothing; give at least one of " + ", ".join(LinkChange.model_fields))
        return self


class PartitionSettings(Model):
    """Groups of nodes no longer reach each other. The groups are given, or the shape makes them of ``on``.

    ``ring``: every node reaches a different majority. ``bridge``: two halves that only one node connects.
    """

    shape: Literal["groups", "halves", "majority", "ring", "bridge"] = "groups"
    groups: list[Texts] = Field(default_factory=list)
    bridge: str | None = None
    one_way: bool = False

    @model_validator(mode="after")
    def _groups_given(self) -> PartitionSettings:
        if self.shape == "groups" and len(self.groups) < 2:
            raise ValueError("needs two groups or more, like 'groups: [[h1, h2], [h3]]', or a shape")
        return self


class IsolateSettings(Model):
    """Hosts reach nobody (``out``), are reached by nobody (``in``), or both."""

    ways: Literal["both", "in", "out"] = "both"


class RampSettings(Model):
    """Links change gradually from one setting to another, over the duration of the fault."""

    start: LinkChange | None = Field(default=None, alias="from")
    to: LinkChange
    step: Duration = Duration(0.1)


class MoveSettings(Model):
    """Hosts are connected to the switch ``to``."""

    to: str


class StopSettings(Model):
    """Components are asked to end, and killed after ``timeout``."""

    timeout: Duration = Duration(30.0)


class RestartSettings(Model):
    """Components end, at once or orderly, and start again after ``down``, with or without their data."""

    data: Literal["keep", "wipe"] = "keep"
    orderly: bool = False
    down: Duration = Duration(0.0)


class CrashLoopSettings(Model):
    """Components are killed, started after ``down``, killed again after ``up``, and so on."""

    up: Duration = Duration(2.0)
    down: Duration = Duration(1.0)


class HostOffSettings(Model):
    """Hosts lose power. Their components start again with or without their data."""

    data: Literal["keep", "wipe"] = "keep"


class CpuSettings(Model):
    """``share`` is what the processes of a host may use together, of the whole machine."""

    share: Share


class MemorySettings(Model):
    """``limit`` is what the processes of a host may use together."""

    limit: Size


class DiskFullSettings(Model):
    """``leave`` is the room that stays free in the storage of a host."""

    leave: Size = Size(0)


class MoveLeaderSettings(Model):
    """Another in-sync replica leads: ``to``, or the next one. Without ``partition``, in every partition."""

    partition: Whole | None = Field(default=None, ge=0)
    to: str | None = None


class ReassignSettings(Model):
    """The replicas of a partition move to these brokers. Without ``partition``, of every partition."""

    partition: Whole | None = Field(default=None, ge=0)
    replicas: Texts = Field(min_length=1)


class DeleteRecordsSettings(Model):
    """The oldest records are deleted: those before an offset, or a share of them."""

    partition: Whole | None = Field(default=None, ge=0)
    before: Whole | None = Field(default=None, ge=0)
    share: Share | None = None

    @model_validator(mode="after")
    def _not_both(self) -> DeleteRecordsSettings:
        if self.before is not None and self.share is not None:
            raise ValueError("give 'before' (an offset) or 'share', not both")
        return self


class DeleteTopicSettings(Model):
    """Topics are deleted; with ``again`` they are created again, empty."""

    again: bool = False


_DECLARED = (
    Kind("fault", "down", "links carry nothing", DownSettings, targets=LINK),
    Kind("fault", "flap", "links go down and up in turn", FlapSettings, targets=LINK),
    Kind("fault", "degrade", "links get worse", DegradeSettings, targets=LINK, also=("slow",), shortens_latency=True),
    Kind("fault", "ramp", "links change slowly", RampSettings, targets=LINK, shortens_latency=True),
    Kind("fault", "partition", "groups of nodes no longer reach each other", PartitionSettings,
         targets=HOST | NOTHING),
    Kind("fault", "isolate", "hosts reach nobody", IsolateSettings, targets=HOST),
    Kind("fault", "switch-down", "switches forward nothing", NoSettings, targets=SWITCH),
    Kind("fault", "move", "hosts move to another switch", MoveSettings,
         targets=HOST, shortens_latency=True, exclusive=True),
    Kind("fault", "kill", "components die at once", NoSettings,
         targets=COMPONENT, needs="kill", holds_up="sending", processes="end"),
    Kind("fault", "stop", "components stop orderly", StopSettings,
         targets=COMPONENT, needs="stop", holds_up="sending", processes="end"),
    Kind("fault", "pause", "components stand still and resume", NoSettings,
         targets=COMPONENT, needs="pause", holds_up="cpu"),
    Kind("fault", "restart", "components start again", RestartSettings, targets=COMPONENT, needs="restart",
         momentary=True, holds_up="sending", processes="start"),
    Kind("fault", "crash-loop", "components die again and again", CrashLoopSettings, targets=COMPONENT,
         needs="restart", holds_up="sending"),
    Kind("fault", "host-off", "hosts lose power and come back", HostOffSettings,
         targets=HOST, exclusive=True, holds_up="sending", processes="end"),
    Kind("fault", "cpu", "hosts get less CPU", CpuSettings,
         targets=HOST, exclusive=True, holds_up="cpu", limits=frozenset(("cpu",))),
    Kind("fault", "memory", "hosts get less memory", MemorySettings,
         targets=HOST, exclusive=True, holds_up="sending", limits=frozenset(("memory",))),
    Kind("fault", "disk-full", "hosts have no room left", DiskFullSettings, targets=HOST, exclusive=True),
    Kind("fault", "move-leader", "leadership of topics moves", MoveLeaderSettings, targets=TOPIC, momentary=True),
    Kind("fault", "reassign", "replicas of topics move", ReassignSettings, targets=TOPIC, momentary=True),
    Kind("fault", "delete-records", "records are deleted", DeleteRecordsSettings, targets=TOPIC, momentary=True),
    Kind("fault", "delete-topic", "topics are deleted", DeleteTopicSettings, targets=TOPIC, momentary=True),
)  # fmt: skip

# Every kind that is declared here has its class in ``stream2gym.faults.kinds``. It shortens no latency unless it says
# that it does.
KINDS = tuple(replace(kind, runnable=True, shortens_latency=bool(kind.shortens_latency)) for kind in _DECLARED)
