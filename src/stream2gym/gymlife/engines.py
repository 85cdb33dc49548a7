"""Engines in the life of a run: made and started early, let through their gates, waited for, watched."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream2gym.components.cluster import Node
from stream2gym.components.engine import EngineComponent, make_engines, prepare_engines
from stream2gym.components.stage import Stage, end_of_log
from stream2gym.components.unit import Tell
from stream2gym.errors import StartFailed
from stream2gym.gymlife.patience import Patience
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Engine


class Engines:
    """All engines of one run."""

    def __init__(self, parts: Sequence[Engine]) -> None:
        self._parts = parts
        self._software: dict[str, Any] = {}
        self.all: list[EngineComponent] = []

    def prepare(self, progress: Progress) -> None:
        self._software = prepare_engines(self._parts, progress)

    def make(self, stage: Stage, nodes: tuple[Node, ...], base: Path) -> None:
        self.all = make_engines(stage, nodes, base, self._software)

    def start_early(self) -> None:
        """Start what can wait at a gate, so that its start overlaps with that of the brokers."""
        for engine in self.all:
            if engine.starts_early():
                engine.start()

    def start(self, patience: Patience, tell: Tell) -> None:
        """Topics and stores are there: open the gates, start the rest step by step, wait for all."""
        for engine in self.all:
            engine.open_gate()
        for step in sorted({engine.STEP for engine in self.all}):
            group = [engine for engine in self.all if engine.STEP == step]
            for engine in group:
                if engine.units[0].state == "new":
                    engine.start()
            began = time.monotonic()
            for engine in group:
                self._await(engine, patience, began)
                tell("ready", component=engine.name, host=engine.host)

    def _await(self, engine: EngineComponent, patience: Patience, began: float) -> None:
        def ready_or_dead() -> bool:
            return engine.ready() or any(unit.state == "died" for unit in engine.units)

        left_s = max(0.0, engine.ready_timeout_s() - (time.monotonic() - began))
        if not patience.up_to(ready_or_dead, left_s):
            why = f"{engine.name} on {engine.host} is not ready after {engine.ready_timeout_s():g} s: "
            raise StartFailed(why + engine.why_not_ready() + _end_of(engine))
        if not engine.ready():
            raise StartFailed(
                f"{engine.name} on {engine.host} died before it was ready: "
                f"{engine.cause() or 'no cause is known'}{_end_of(engine)}"
            )

    def settled(self) -> bool:
        """Whether every engine has worked off what it has read."""
        return all(engine.settled() for engine in self.all)

    def look(self) -> None:
        """As a monitor: let every engine write down what can be seen of it."""
        for engine in self.all:
            engine.look()

    def close(self) -> None:
        for engine in self.all:
            engine.close()


def _end_of(engine: EngineComponent) -> str:
    return f"\n--- end of {engine.log.name}:\n{end_of_log(engine.log)}"
