"""A fault during a run: an ``Action``, which is plain data until it is applied to a ``FaultContext``.

Each kind of fault is one small class. ``apply`` starts the fault and ``undo`` ends it. A fault that changes while it
is in force (a flapping link, a crash loop) does so in ``step``. The context holds what faults act on: links, hosts,
components and the cluster. Only the thread of the fault runner calls these methods, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from stream2gym.components.component_process import ComponentProcess
from stream2gym.faults.link_changes import ActiveLinkChanges
from stream2gym.plan.planned import Network
from stream2gym.spec.model import Experiment


class CannotApply(Exception):
    """The fault cannot be applied to its target now. The text says why."""


class TargetComponent(Protocol):
    """A component as faults see it."""

    name: str
    kind: str
    host: str
    processes: list[ComponentProcess]


class Answer(Protocol):
    """The answer to a request that was sent to the cluster."""

    @property
    def done(self) -> bool:
        """Whether the answer, or a refusal, has arrived."""

    def result(self, timeout_s: float = ...) -> dict[str, Any]:
        """Wait for the answer and return it. S2gError if the cluster refuses or the time is over."""


class Cluster(Protocol):
    """The cluster, asked through the observer. It can be reached while links are cut."""

    def ask(self, operation: str, **request: Any) -> Answer:
        """Send a request."""

    def broker(self, node: int) -> str:
        """The name of the broker with this node id."""

    def node(self, name: str) -> int:
        """The node id of a broker, given its name or its host."""


class TargetHosts(Protocol):
    """The hosts as faults see them."""

    def limit(self, host: str, *, cpu_share: float | None = None, memory_bytes: int | None = None) -> None:
        """Limit what the processes of the host may use together."""

    def unlimit(self, host: str, name: str) -> None:
        """Restore the planned limit of ``name``: cpu or memory."""

    def power_off(self, host: str) -> None:
        """Kill every process of the host."""

    def fill_disk(self, host: str, leave_bytes: int) -> None:
        """Shrink the storage of the host so that only ``leave_bytes`` stay free."""

    def free_disk(self, host: str) -> None:
        """Restore the planned size of the host's storage."""


@dataclass
class FaultContext:
    """What faults act on."""

    network: Network
    links: ActiveLinkChanges
    components: Callable[[], Mapping[str, TargetComponent]]
    experiment: Experiment
    hosts: TargetHosts | None = None
    cluster: Cluster | None = None
    # After the load nobody starts producers again.
    load_over: bool = False
    # Removes what a component has stored.
    wipe: Callable[[str], None] = lambda _component: None

    def component(self, name: str) -> TargetComponent:
        """The component of this name; CannotApply where there is none."""
        found = self.components().get(name)
        if found is None:
            raise CannotApply(f"there is no component {name}")
        return found

    def limits(self) -> TargetHosts:
        """The hosts; CannotApply where their resources cannot be limited."""
        if self.hosts is None:
            raise CannotApply("hosts cannot be limited here")
        return self.hosts

    def on_host(self, host: str) -> list[TargetComponent]:
        """The components that run on a host."""
        return [part for part in self.components().values() if part.host == host]


class Action:
    """One occurrence of a fault; each kind of fault is a subclass.

    ``settings`` is an instance of the kind's settings model. ``hit`` are the names of what the fault acts on,
    resolved when it was due. ``lasts_s`` is how long it will be in force; None means that it has no end of its own.
    """

    # Whether it keeps its components from running. The end of the load waits for such components.
    HOLDS: ClassVar[bool] = False
    # Whether it ends or starts processes. Slow faults come last among those that are due at the same moment.
    SLOW: ClassVar[bool] = False
    # Whether a fault due at 0 s is applied before the first message. Faults of programs cannot be, because programs
    # may start at t0 only.
    BEFORE_LOAD: ClassVar[bool] = False

    def __init__(self, settings: Any, hit: tuple[str, ...], lasts_s: float | None = None) -> None:
        self.settings = settings
        self.hit = hit
        self.lasts_s = lasts_s

    def apply(self, context: FaultContext) -> None:
        """Start the fault. CannotApply says why it cannot be done."""
        raise NotImplementedError

    def undo(self, context: FaultContext) -> None:
        """End the fault. It is called once, also after an ``apply`` that failed half-way."""

    def step(self, context: FaultContext, elapsed_s: float) -> float | None:
        """Continue the fault ``elapsed_s`` after its start.

        Returns when it wants to be called next, in seconds after its start, or None when it needs no further call.
        """
        return None

    def held(self, context: FaultContext) -> frozenset[str]:
        """The names of the components that the fault keeps from running."""
        return frozenset(self.hit) if self.HOLDS else frozenset()


class LinkAction(Action):
    """A fault that changes how links carry packets."""

    BEFORE_LOAD = True

    def undo(self, context: FaultContext) -> None:
        context.links.restore(self)
