"""The kinds of fault and the settings of each. What they do lives in the faults room; here is what they take."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field, model_validator

from stream2gym.kinds.base import Model, Texts, Whole
from stream2gym.kinds.links import LinkChange
from stream2gym.kinds.registry import Kind
from stream2gym.units import Duration, Share, Size

LINK = frozenset(("link",))
HOST = frozenset(("host",))
SWITCH = frozenset(("switch",))
COMPONENT = frozenset(("component",))
TOPIC = frozenset(("topic",))
NOTHING = frozenset(("nothing",))

RING_LEAST = 5  # with fewer nodes in a ring every node sees all others

Ways = Literal["both", "forward", "backward"]


class Nothing(Model):
    """No settings of its own."""


class Down(Model):
    ways: Ways = "both"


class Flap(Model):
    """Down and up again, over and over: ``duty`` is the share of each period that it is down."""

    period: Duration = Duration(1.0)
    duty: Share = Share(0.5)
    ways: Ways = "both"


class Degrade(LinkChange):
    """Any setting of a link, for as long as the fault lasts."""

    ways: Ways = "both"

    @model_validator(mode="after")
    def _something(self) -> Degrade:
        if all(getattr(self, name) is None for name in LinkChange.model_fields):
            raise ValueError("changes nothing; give at least one of " + ", ".join(LinkChange.model_fields))
        return self


class Partition(Model):
    """Who no longer reaches whom. ``groups`` are lists of nodes, or the shape makes them from ``on``.

    ``ring``: every node sees a different majority; ``bridge``: two halves that one node joins.
    """

    shape: Literal["groups", "halves", "majority", "ring", "bridge"] = "groups"
    groups: list[Texts] = Field(default_factory=list)
    bridge: str | None = None
    one_way: bool = False

    @model_validator(mode="after")
    def _groups_given(self) -> Partition:
        if self.shape == "groups" and len(self.groups) < 2:
            raise ValueError("needs two groups or more, like 'groups: [[h1, h2], [h3]]', or a shape")
        return self


class Isolate(Model):
    ways: Literal["both", "in", "out"] = "both"


class Ramp(Model):
    """A slow change of a link from one setting to another over the fault's time."""

    start: LinkChange | None = Field(default=None, alias="from")
    to: LinkChange
    step: Duration = Duration(0.1)


class Move(Model):
    """A host's link moves to another switch."""

    to: str


class Stop(Model):
    timeout: Duration = Duration(30.0)


class RestartFault(Model):
    data: Literal["keep", "wipe"] = "keep"
    orderly: bool = False
    down: Duration = Duration(0.0)


class CrashLoop(Model):
    """Killed again and again, ``up`` after each start."""

    up: Duration = Duration(2.0)
    down: Duration = Duration(1.0)


class HostOff(Model):
    data: Literal["keep", "wipe"] = "keep"


class Cpu(Model):
    share: Share


class Memory(Model):
    limit: Size


class DiskFull(Model):
    leave: Size = Size(0)


class MoveLeader(Model):
    partition: Whole | None = Field(default=None, ge=0)
    to: str | None = None


class Reassign(Model):
    partition: Whole | None = Field(default=None, ge=0)
    replicas: Texts = Field(min_length=1)


class DeleteRecords(Model):
    """Up to an offset, or a share of what is there."""

    partition: Whole | None = Field(default=None, ge=0)
    before: Whole | None = Field(default=None, ge=0)
    share: Share | None = None

    @model_validator(mode="after")
    def _one(self) -> DeleteRecords:
        if self.before is not None and self.share is not None:
            raise ValueError("give 'before' (an offset) or 'share', not both")
        return self


class DeleteTopic(Model):
    again: bool = False  # made anew, empty


_DECLARED = (
    Kind("fault", "down", "links carry nothing", Down, targets=LINK),
    Kind("fault", "flap", "links go down and up in turn", Flap, targets=LINK),
    Kind("fault", "degrade", "links get worse", Degrade, targets=LINK, also=("slow",)),
    Kind("fault", "ramp", "links change slowly", Ramp, targets=LINK),
    Kind("fault", "partition", "groups of nodes no longer reach each other", Partition,
         targets=HOST | NOTHING),
    Kind("fault", "isolate", "hosts reach nobody", Isolate, targets=HOST),
    Kind("fault", "switch-down", "switches forward nothing", Nothing, targets=SWITCH),
    Kind("fault", "move", "hosts move to another switch", Move, targets=HOST),
    Kind("fault", "kill", "components die at once", Nothing, targets=COMPONENT, needs="kill"),
    Kind("fault", "stop", "components stop orderly", Stop, targets=COMPONENT, needs="stop"),
    Kind("fault", "pause", "components stand still and resume", Nothing, targets=COMPONENT, needs="pause"),
    Kind("fault", "restart", "components start again", RestartFault, targets=COMPONENT, needs="restart",
         momentary=True),
    Kind("fault", "crash-loop", "components die again and again", CrashLoop, targets=COMPONENT,
         needs="restart"),
    Kind("fault", "host-off", "hosts lose power and come back", HostOff, targets=HOST),
    Kind("fault", "cpu", "hosts get less CPU", Cpu, targets=HOST),
    Kind("fault", "memory", "hosts get less memory", Memory, targets=HOST),
    Kind("fault", "disk-full", "hosts have no room left", DiskFull, targets=HOST),
    Kind("fault", "move-leader", "leadership of topics moves", MoveLeader, targets=TOPIC, momentary=True),
    Kind("fault", "reassign", "replicas of topics move", Reassign, targets=TOPIC, momentary=True),
    Kind("fault", "delete-records", "records are deleted", DeleteRecords, targets=TOPIC, momentary=True),
    Kind("fault", "delete-topic", "topics are deleted", DeleteTopic, targets=TOPIC, momentary=True),
)  # fmt: skip

# Every kind that is declared here has its class in the faults room.
KINDS = tuple(replace(kind, runnable=True) for kind in _DECLARED)
