"""What works beside Kafka in the life of a run: engines, stores, sinks and line sources.

Slow starters begin before the brokers do and wait at their gates; all of them are there before the load begins.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream2gym.components.base import ProcessComponent, stop_together
from stream2gym.components.causes import cause_in
from stream2gym.components.cluster import Node
from stream2gym.components.engine import EngineComponent, make_engines, prepare_engines
from stream2gym.components.linesource import LineSource
from stream2gym.components.sink import SinkComponent
from stream2gym.components.stage import Stage, end_of_log
from stream2gym.components.store import StoreComponent, make_stores, prepare_stores
from stream2gym.components.unit import Tell
from stream2gym.errors import StartFailed
from stream2gym.gymlife.audit import Audit, audit_config, run_check
from stream2gym.gymlife.patience import Patience
from stream2gym.software.fetch import Progress
from stream2gym.spec.model import Experiment

STORES_TIMEOUT_S = 90.0
CLIENTS_TIMEOUT_S = 60.0


class Works:
    """All of them in one run."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._software: dict[str, Any] = {}
        self._stage: Stage | None = None
        self._nodes: tuple[Node, ...] = ()
        self._base = Path()
        self.engines: list[EngineComponent] = []
        self.stores: list[StoreComponent] = []
        self.sinks: list[SinkComponent] = []
        self.sources: list[LineSource] = []

    def prepare(self, progress: Progress) -> None:
        """Fetch their software."""
        self._software = prepare_engines(self._experiment.engines, progress)
        self._software |= prepare_stores(self._experiment.stores, progress)

    def make(self, stage: Stage, nodes: tuple[Node, ...], base: Path) -> None:
        self._stage, self._nodes, self._base = stage, nodes, base
        self.stores = make_stores(stage, base, self._software)
        self.engines = make_engines(stage, nodes, base, self._software)
        by_name = {store.name: store for store in self.stores}
        self.sinks = [
            SinkComponent(stage, part, by_name[part.store], nodes) for part in self._experiment.sinks
        ]
        self.sources = [LineSource(stage, part, base) for part in self._experiment.sources]

    def everyone(self) -> list[ProcessComponent]:
        return [*self.stores, *self.sinks, *self.engines, *self.sources]

    def readers(self) -> list[EngineComponent | SinkComponent]:
        """Those that read topics and say how far they are."""
        return [*self.engines, *self.sinks]

    def start_early(self) -> None:
        """Start what needs nobody else, or can wait at a gate."""
        early = [engine for engine in self.engines if engine.starts_early()]
        for component in (*self.stores, *self.sources, *early):
            component.start()

    def start(self, patience: Patience, tell: Tell) -> None:
        """Topics are there: stores, then sinks and engines, until all of them do their work."""
        ready: Sequence[StoreComponent | LineSource] = [*self.stores, *self.sources]
        for component in ready:
            self._await(component, patience, STORES_TIMEOUT_S)
        for sink in self.sinks:
            sink.start()
        for engine in self.engines:
            engine.open_gate()
        for step in sorted({engine.STEP for engine in self.engines}):
            group = [engine for engine in self.engines if engine.STEP == step]
            for engine in group:
                if engine.units[0].state == "new":
                    engine.start()
            began = time.monotonic()
            for engine in group:
                left_s = engine.ready_timeout_s() - (time.monotonic() - began)
                self._await(engine, patience, left_s)
        for sink in self.sinks:
            self._await(sink, patience, CLIENTS_TIMEOUT_S)
        for part in self.everyone():
            tell("ready", component=part.name, host=part.host)

    def _await(
        self,
        part: EngineComponent | StoreComponent | SinkComponent | LineSource,
        patience: Patience,
        timeout_s: float,
    ) -> None:
        if not patience.up_to(lambda: part.ready() or part.hopeless, max(0.0, timeout_s)):
            why = f"{part.name} on {part.host} is not ready after {timeout_s:.0f} s: {part.why_not_ready()}"
            raise StartFailed(why + _end_of(part.log))
        if not part.ready():
            cause = part.cause() or cause_in(part.log) or "no cause is known"
            how = "died before it was ready" if part.over else "cannot get ready"
            raise StartFailed(f"{part.name} on {part.host} {how}: {cause}{_end_of(part.log)}")

    def audit(self, patience: Patience) -> None:
        """Look into topics and stores while they are there, then let the checks compare."""
        if self._stage is None:
            return
        stop_together(self.sinks)
        gone = [store for store in self.stores if store.over]
        for store in gone:
            self._stage.tell("audit-failed", reason=f"{store.name} on {store.host} is not there any more")
        stores = [store for store in self.stores if store not in gone]
        sinks = [sink for sink in self.sinks if sink.store not in gone]
        config = audit_config(self._stage, self._nodes, stores, sinks)
        if config is not None:
            Audit(self._stage).run(config, patience)

    def check(self) -> None:
        """Compare what was written down with what the checks know to be right."""
        if self._stage is not None:
            for check in self._experiment.checks:
                run_check(self._stage, check, self._base)

    def settled(self) -> bool:
        """Whether all have worked off what they have read."""
        return all(reader.settled() for reader in self.readers())

    def look(self) -> None:
        """As a monitor: let every engine write down what can be seen of it."""
        for engine in self.engines:
            engine.look()

    def stop_order(self) -> list[list[ProcessComponent]]:
        """Who stops together, in which order: jobs before the cluster they run on, stores last."""
        steps = sorted({engine.STEP for engine in self.engines}, reverse=True)
        groups: list[list[ProcessComponent]] = [[*self.sources, *self.sinks]]
        groups += [[engine for engine in self.engines if engine.STEP == step] for step in steps]
        groups.append([*self.stores])
        return groups

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


def _end_of(log: Path) -> str:
    return f"\n--- end of {log.name}:\n{end_of_log(log)}"
