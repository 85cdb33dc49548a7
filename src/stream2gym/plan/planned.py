"""The plan as plain data: what a run will do. It depends on the experiment and a seed only.

This module imports neither pydantic nor another heavy library, because the fabric and supervisor processes use it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from stream2gym.jsonable import Jsonable
from stream2gym.link import LinkSettings

RoutingPolicy = Literal["hops", "latency", "widest", "ecmp", "given"]


@dataclass(frozen=True)
class PlannedLink(Jsonable):
    """A link between two nodes; ``forward`` is the direction from ``a`` to ``b``."""

    name: str  # "h1 -- s1"
    a: str
    b: str
    port_a: int
    port_b: int
    forward: LinkSettings
    backward: LinkSettings


@dataclass(frozen=True)
class PlannedHost(Jsonable):
    """A host. It has one address and one interface, however many links it has."""

    name: str
    address: str
    interface: str
    mtu: int = 1500
    cpu_share: float | None = None  # of the whole machine
    memory_bytes: int | None = None
    disk_bytes: int | None = None


@dataclass(frozen=True)
class Routing(Jsonable):
    """How paths are chosen, and how long after a cut they are chosen again (None: never)."""

    by: RoutingPolicy = "hops"
    reconverge_ms: float | None = None
    given: dict[str, tuple[str, ...]] = field(default_factory=dict)  # "h1 -> h3": nodes from h1 to h3


@dataclass(frozen=True)
class Network(Jsonable):
    """The network as the fabric and the hosts need it."""

    hosts: tuple[PlannedHost, ...]
    switches: tuple[str, ...]
    links: tuple[PlannedLink, ...]
    routing: Routing
    seed: int
    prefix_length: int = 8
    observer: PlannedHost | None = None


@dataclass(frozen=True)
class PlannedComponent(Jsonable):
    """A component, its host, and the names of the components that it opens connections to."""

    name: str
    kind: str  # broker, producer, consumer, engine, store, source, sink
    type: str
    host: str
    talks_to: tuple[str, ...] = ()
    placed_by: str = "given"  # or the policy that chose the host
    instances: int = 1


@dataclass(frozen=True)
class PathView(Jsonable):
    """The path of a pair of hosts that talk, with its round-trip time and bottleneck while nothing else uses it."""

    source: str
    target: str
    # From source to target; empty if the target is unreachable.
    nodes: tuple[str, ...]
    # The latencies of both directions.
    rtt_ms: float
    # From source to target; None is unlimited.
    bottleneck_bps: float | None
    # From target to source, if these are other nodes.
    back_nodes: tuple[str, ...] = ()
    back_bottleneck_bps: float | None = None


@dataclass(frozen=True)
class Window(Jsonable):
    """When a fault is in force, in seconds from t0.

    Without an end it lasts until it is done, or to the end of the run.
    """

    start_s: float
    end_s: float | None = None


@dataclass(frozen=True)
class PlannedFault(Jsonable):
    """A fault with its times, or with the condition that it waits for."""

    name: str
    kind: str
    on: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()
    # The condition: "10000 messages", "lag > 5000", "broker-h2 is controller", "fault NAME, NAME".
    trigger: str = ""
    for_s: float | None = None
    # From the moment when the condition is met to the start.
    delay_s: float = 0.0
    # The settings as the model of their kind. It is not written to plan.json: a plan that was read has None.
    checked_settings: Any = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        plain = super().to_json()
        del plain["checked_settings"]
        return plain


@dataclass(frozen=True)
class Plan(Jsonable):
    """Everything that a run does."""

    name: str
    seed: int
    network: Network
    components: tuple[PlannedComponent, ...]
    paths: tuple[PathView, ...]
    unreachable: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    # A sentence for each part of the experiment that this version only reads and checks.
    not_runnable: tuple[str, ...] = ()
    # The brokers that vote as controllers.
    voters: tuple[str, ...] = ()
    # ``fast`` starts the software over unshaped links, ``as-configured`` over the links as they are.
    startup: str = "fast"
    # How many pairs of hosts ``paths`` leaves out; only without components.
    pairs_left_out: int = 0
    # In the order of the experiment.
    faults: tuple[PlannedFault, ...] = ()
    # The duration of the load.
    load_s: float = 0.0
    # The load before t0 that no performance figure counts: its duration, the engines whose first batch it lasts for,
    # and the producers that send it.
    warmup_s: float = 0.0
    warmup_engines: tuple[str, ...] = ()
    warmup_producers: tuple[str, ...] = ()

    @property
    def has_warmup(self) -> bool:
        return self.warmup_s > 0 or bool(self.warmup_engines)
