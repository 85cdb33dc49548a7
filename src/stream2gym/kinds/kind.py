"""The declaration of one kind of fault, engine, store or monitor. It is read before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from stream2gym.kinds.settings import NoSettings

Family = Literal["fault", "engine", "store", "monitor"]


@dataclass(frozen=True)
class Kind:
    """One kind of fault, engine, store or monitor."""

    family: Family
    name: str
    summary: str
    # What an experiment may set. Of a monitor it may set only the time between two looks.
    settings: type[BaseModel] = NoSettings
    # Other names that people write for it.
    also: tuple[str, ...] = ()
    # Whether this version can run it, or only reads and checks it.
    runnable: bool = False
    # Faults: what the fault acts on (link, host, switch, component, topic, nothing).
    targets: frozenset[str] = frozenset()
    # Faults: the capability that a component must have to be a target.
    needs: str = ""
    # Faults: whether the fault ends by itself, so that nothing is undone later.
    momentary: bool = False
    # Faults: whether messages may become faster through it. None: it is not declared, so they may.
    shortens_latency: bool | None = None
    # Faults: what it keeps its targets from. "cpu": they wait for a CPU and send late. "sending": they send late.
    holds_up: Literal["", "cpu", "sending"] = ""
    # Faults: what becomes of the processes of its targets. "end": they end; "start": those that have ended run again.
    processes: Literal["", "end", "start"] = ""
    # Faults of hosts: whether a host takes only one of the kind at a time.
    exclusive: bool = False
    # Faults of hosts: the limits of a host that it sets.
    limits: frozenset[Literal["cpu", "memory"]] = frozenset()
    # Engines and stores: which faults can act on it.
    capabilities: frozenset[str] = frozenset()
    # Engines and stores: the port that it listens on by default.
    port: int | None = None
    # Engines: whether it runs a program of the user's.
    app: bool = False
    # Monitors: the time between two looks, in seconds, if the experiment says nothing.
    every_s: float = 0.5
    # Monitors: the shortest time that an experiment may set.
    shortest_s: float = 0.1
    # Monitors: whether an experiment may set another time or switch it off. The verdict rests on the others.
    adjustable: bool = True
