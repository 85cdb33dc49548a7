"""What a fault is while a run goes on: an ``Action``, pure data until it is applied to a ``World``.

A kind of fault is one small class: ``apply`` does it, ``undo`` takes it back, and a fault that moves by itself (a
flapping link, a crash loop) does so in ``step``. The world says what there is to act on: links, hosts, components,
the cluster. Only the runner's thread calls any of these, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from stream2gym.components.unit import Unit
from stream2gym.faults.linkbook import LinkBook
from stream2gym.plan.model import Network
from stream2gym.spec.model import Experiment


class CannotApply(Exception):
    """A fault that cannot be done to its target now, with the reason."""


class Subject(Protocol):
    """A component as faults see it."""

    name: str
    kind: str
    host: str
    units: list[Unit]


class Answer(Protocol):
    """A question on its way to the cluster."""

    def result(self, timeout_s: float = ...) -> dict[str, Any]: ...


class Cluster(Protocol):
    """The cluster as the observer sees it, also while links are cut."""

    def ask(self, operation: str, **request: Any) -> Answer: ...

    def broker(self, node: int) -> str:
        """The component that has this node id."""

    def node(self, name: str) -> int:
        """The node id of a component, or of the broker on a host."""


class Machines(Protocol):
    """The hosts as faults see them."""

    def limit(self, host: str, *, cpu_share: float | None = None, memory_bytes: int | None = None) -> None:
        """Set what the host's processes may use together."""

    def unlimit(self, host: str, name: str) -> None:
        """Back to what the plan says; ``name``: cpu or memory."""

    def fill_disk(self, host: str, leave_bytes: int) -> None:
        """Leave the host's storage only so much room."""

    def free_disk(self, host: str) -> None:
        """Give the host's storage its planned size again."""


@dataclass
class World:
    """What faults act on."""

    network: Network
    links: LinkBook
    components: Callable[[], Mapping[str, Subject]]
    experiment: Experiment
    machines: Machines | None = None
    cluster: Cluster | None = None
    load_over: bool = False  # producers are not started any more
    wipe: Callable[[str], None] = lambda _component: None  # remove what a component has stored

    def component(self, name: str) -> Subject:
        found = self.components().get(name)
        if found is None:
            raise CannotApply(f"there is no component {name}")
        return found

    def limits(self) -> Machines:
        """The hosts, where they can be limited."""
        if self.machines is None:
            raise CannotApply("hosts cannot be limited here")
        return self.machines

    def on_host(self, host: str) -> list[Subject]:
        return [part for part in self.components().values() if part.host == host]


class Action:
    """One occurrence of a fault. Subclasses are the kinds; ``hit`` are names, resolved when it fired.

    ``lasts_s`` is how long it is to be in force, None when it has no end of its own.
    """

    # Whether it keeps its components from running, so that the load waits for them.
    HOLDS: ClassVar[bool] = False
    # Whether it ends or starts processes: of what is due at the same moment this comes last.
    SLOW: ClassVar[bool] = False

    def __init__(self, settings: Any, hit: tuple[str, ...], lasts_s: float | None = None) -> None:
        self.settings = settings
        self.hit = hit
        self.lasts_s = lasts_s

    def apply(self, world: World) -> None:
        """Do it; CannotApply says why not."""
        raise NotImplementedError

    def undo(self, world: World) -> None:
        """Take it back; called once, also when ``apply`` failed half-way."""

    def step(self, world: World, elapsed_s: float) -> float | None:
        """Move on; gives back how long after the start it wants to be called next, or None when it rests."""
        return None

    def held(self, world: World) -> frozenset[str]:
        """The components that it keeps from running."""
        return frozenset(self.hit) if self.HOLDS else frozenset()
