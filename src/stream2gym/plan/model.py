"""The plan: what will be done, as plain data. Decided purely from the experiment and a seed.

Nothing here imports pydantic or any heavy library: the fabric and supervisor processes read these types too.
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
    """A host: one address, one interface however many links it has."""

    name: str
    address: str
    interface: str
    mtu: int = 1500
    cpu_share: float | None = None  # of the whole machine
    memory_bytes: int | None = None
    disk_bytes: int | None = None


@dataclass(frozen=True)
class Routing(Jsonable):
    """How paths are chosen, and how long after a cut they are chosen anew (None: never)."""

    by: RoutingPolicy = "hops"
    reconverge_ms: float | None = None
    given: dict[str, tuple[str, ...]] = field(default_factory=dict)  # "h1 -> h3": nodes from h1 to h3


@dataclass(frozen=True)
class Network(Jsonable):
    """All that the fabric and the hosts need to know."""

    hosts: tuple[PlannedHost, ...]
    switches: tuple[str, ...]
    links: tuple[PlannedLink, ...]
    routing: Routing
    seed: int
    prefix_length: int = 8
    observer: PlannedHost | None = None


@dataclass(frozen=True)
class PlannedComponent(Jsonable):
    """Who runs where, and whom it opens connections to (names of other components)."""

    name: str
    kind: str  # broker, producer, consumer, engine, store, source, sink
    type: str
    host: str
    talks_to: tuple[str, ...] = ()
    placed_by: str = "given"  # or the policy that chose the host
    instances: int = 1


@dataclass(frozen=True)
class PathView(Jsonable):
    """The path of a pair of hosts that talk, and what to expect of it while nothing else is on it."""

    source: str
    target: str
    nodes: tuple[str, ...]  # from source to target; empty: unreachable
    rtt_ms: float  # latencies there and back
    bottleneck_bps: float | None  # from source to target; None: unlimited
    back_nodes: tuple[str, ...] = ()  # where the way back is another one
    back_bottleneck_bps: float | None = None


@dataclass(frozen=True)
class Window(Jsonable):
    """When a fault is in force, in seconds from t0. Without an end: until it is done, or to the end of the run."""

    start_s: float
    end_s: float | None = None


@dataclass(frozen=True)
class PlannedFault(Jsonable):
    """A fault with the times at which it happens, or with the condition that it waits for."""

    name: str
    kind: str
    on: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()
    trigger: str = ""  # "10000 messages", "lag > 5000", "broker-h2 is controller", "fault NAME, NAME"
    for_s: float | None = None
    delay_s: float = 0.0  # from the trigger to the start


@dataclass(frozen=True)
class Plan(Jsonable):
    """What will be done."""

    name: str
    seed: int
    network: Network
    components: tuple[PlannedComponent, ...]
    paths: tuple[PathView, ...]
    unreachable: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    not_runnable: tuple[str, ...] = ()  # parts of the experiment that this version only parses
    voters: tuple[str, ...] = ()  # brokers that vote as controllers
    startup: str = "fast"  # start over unshaped links, or as-configured
    pairs_left_out: int = 0  # without components every pair of hosts counts; those beyond the limit
    faults: tuple[PlannedFault, ...] = ()  # in the order of the experiment
    load_s: float = 0.0  # how long the load lasts
