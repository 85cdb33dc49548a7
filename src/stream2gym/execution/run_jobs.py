"""The jobs of a run while it goes on: engines, producers and consumers that are submitted, stopped or moved by hand.

Whatever is done here is an event, and what joins the run joins its experiment and its plan in the run folder. So the
audit knows of a submitted consumer what it knows of any other: where it began, how far it came, what it was owed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stream2gym.components.base_component import BaseComponent
from stream2gym.components.consumer import ConsumerComponent
from stream2gym.components.engine import EngineComponent, make_engine, prepare_engines
from stream2gym.components.producer import ProducerComponent
from stream2gym.components.program_component import ProgramComponent
from stream2gym.components.topics import groups_of
from stream2gym.errors import BadInput, Mistake, S2gError
from stream2gym.execution.drive_load import LEAD_S, Load
from stream2gym.execution.job_overview import describe_jobs, describe_state
from stream2gym.execution.job_parts import Joined, Part, find_hidden_files, join_parts
from stream2gym.execution.lag_tracker import LagTracker
from stream2gym.execution.program_folder import make_root
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.start_monitors import RunMonitors
from stream2gym.plan.placement_in_run import place_in_run
from stream2gym.plan.planned import Plan
from stream2gym.software.cache import Cache
from stream2gym.spec.findings import did_you_mean
from stream2gym.spec.model import Consumer, Engine, Producer
from stream2gym.spec.writers.conversion import to_yaml
from stream2gym.wait import wait_until

# How long a job may take to get ready before that is told.
READY_TIMEOUT_S = 120.0
_MOVABLE = ("engine", "producer", "consumer")


class RunJobs:
    """Handle of the jobs of one run. Any thread may call it; one request is done after the other.

    ``held`` are the components that are being moved: the load waits for them.
    """

    def __init__(self, run: RunControl, load: Load, monitors: RunMonitors) -> None:
        self._run = run
        self._load = load
        self._monitors = monitors
        self._components = load.components
        self._context = load.components.context
        self._lock = threading.RLock()
        self._is_load_over = False
        self._submitted: set[str] = set()
        self.held: frozenset[str] = frozenset()

    def end_load(self) -> None:
        """Take no more requests that change the run; one that is under way is waited for."""
        with self._lock:
            self._is_load_over = True

    # ---- requests

    def overview(self) -> list[dict[str, Any]]:
        """Every component of the run: where it is, how it is, where it listens."""
        return describe_jobs(self._components.all(), self._context, self._submitted)

    def submit(self, said: Mapping[str, Sequence[Mapping[str, Any]]], folder: Path) -> list[str]:
        """Let parts of an experiment file join the run. Returns their names; they get ready by themselves."""
        with self._changing():
            context = self._context
            joined = join_parts(context.experiment, said, base=context.base, folder=folder)
            visible = [context.base, Path.cwd(), context.folder.path.absolute(), Cache.here().path().absolute()]
            if hidden := find_hidden_files(joined.parts, context.base, visible):
                raise BadInput(hidden)
            names = [str(part.name) for part in joined.parts]
            made = place_in_run(joined.experiment, self._where(), self._gone(), seed=context.plan.seed)
            if made.not_runnable:
                raise BadInput([Mistake("", part, "leave it out") for part in made.not_runnable])
            engines = [part for part in joined.parts if isinstance(part, Engine)]
            software = prepare_engines(engines, context.base, lambda *_: None)
            if any(part.app is not None for part in joined.parts):
                self._make_working_directory()
            self._join(joined, made, names)
            for part in joined.parts:
                self._start(part, software)
            return names

    def stop(self, name: str) -> dict[str, Any]:
        """Stop a job for good. Returns where it was."""
        with self._changing():
            part = self._find(name)
            self._run.recorder.tell("job-stopped", component=name, host=part.host)
            for process in part.processes:
                process.retire()
            part.stop()
            return {"name": name, "host": part.host}

    def move(self, name: str, host: str) -> dict[str, Any]:
        """Stop a job and start it on another host, where it goes on from what it has committed or checkpointed."""
        with self._changing():
            part = self._find(name)
            self._check_move(part, host)
            left = part.host
            self.held = frozenset({name})
            try:
                self._run.recorder.tell("job-moved", component=name, host=left, to=host)
                part.stop()
                part.move_to(host)
                self._name_components()
                for process in part.processes:
                    process.restart()
                for process in part.processes:
                    process.wait_for_restart()
            finally:
                self.held = frozenset()
            return {"name": name, "host": host, "from": left}

    # ---- how they are done

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Change the run in the block, alone. BadInput if it is too late for that."""
        with self._lock:
            if self._is_load_over:
                raise BadInput(Mistake(self._context.folder.path.name, "takes no jobs now", "its load is over"))
            yield

    def _find(self, name: str) -> BaseComponent:
        """The job of this name, if it runs and may be stopped or moved."""
        parts = {part.name: part for part in self._components.all()}
        part = parts.get(name)
        if part is None:
            raise BadInput(Mistake(name, "is not in the run", did_you_mean(name, parts)))
        if part.kind not in _MOVABLE:
            hint = f"faults stop it: s2g fault RUN 'stop {name}'"
            raise BadInput(Mistake(name, f"is a {part.kind}, which is part of the set-up", hint))
        if part.over:
            raise BadInput(
                Mistake(name, f"does not run: {describe_state(part)}", "'s2g job RUN list' shows what does")
            )
        return part

    def _check_move(self, part: BaseComponent, host: str) -> None:
        hosts = [one.name for one in self._context.plan.network.hosts]
        if host not in hosts:
            raise BadInput(Mistake(part.name, f"there is no host {host!r}", did_you_mean(host, hosts)))
        if host == part.host:
            raise BadInput(Mistake(part.name, f"is on {host} already", "name another host"))
        why = part.why_not_movable() or _why_observation_stays(self._part_of(part.name))
        if why:
            raise BadInput(Mistake(part.name, f"cannot be moved: {why}", "stop it, and submit another"))
        where = self._where() | {part.name: host}
        place_in_run(self._context.experiment, where, self._gone(), seed=self._context.plan.seed)

    def _part_of(self, name: str) -> Part | None:
        experiment = self._context.experiment
        parts: list[Part] = [*experiment.engines, *experiment.consumers, *experiment.producers]
        return next((part for part in parts if str(part.name) == name), None)

    def _where(self) -> dict[str, str]:
        """The host of every component that is there."""
        return {part.name: part.host for part in self._components.all() if not part.is_retired}

    def _gone(self) -> set[str]:
        return {part.name for part in self._components.all() if part.is_retired}

    def _join(self, joined: Joined, made: Plan, names: Sequence[str]) -> None:
        """Add the parts to experiment and plan, in the run and in its folder, and let their names resolve."""
        context = self._context
        placed = {part.name: part for part in made.components if part.name in names}
        on = {name: part.host for name, part in placed.items()}
        experiment = joined.experiment
        parts = {
            section: [
                part.model_copy(update={"on": on[str(part.name)]}) if str(part.name) in on else part
                for part in getattr(experiment, section)
            ]
            for section in ("engines", "consumers", "producers")
        }
        context.experiment = experiment.model_copy(update=parts)
        known = {(path.source, path.target) for path in context.plan.paths}
        more = tuple(path for path in made.paths if (path.source, path.target) not in known)
        components = (*context.plan.components, *(placed[name] for name in names))
        context.plan = replace(context.plan, components=components, paths=(*context.plan.paths, *more))
        context.folder.write_text("experiment.yaml", to_yaml(context.experiment, quote_yes_no_keys=True))
        context.folder.write_json("plan.json", context.plan.to_json())
        for name in names:
            self._run.recorder.tell("job-submitted", component=name, host=on[name], part=placed[name].kind)
        self._submitted.update(names)
        self._name_components(on)

    def _make_working_directory(self) -> None:
        """Make the folder that programs start in. A run that had no programs has none, and no private view."""
        context = self._context
        if not context.root.is_dir():
            context.root = make_root(context.folder, context.base)
            self._run.recorder.tell("warning", what=f"programs can change {context.base}: no private view of it")

    def _start(self, part: Part, software: Mapping[str, Any]) -> None:
        """Make and start the components of a part; what it needs later is done when it is ready."""
        for component in self._make(part, software):
            if isinstance(component, ProgramComponent) and component.kind == "producer":
                component.start_at(self._load.t0_ns)
            else:
                component.start()
            name = f"s2g-job-{component.name}"
            threading.Thread(target=self._attend, args=(component,), name=name, daemon=True).start()
        if isinstance(part, Consumer | Engine):
            self._load.lag_tracker = LagTracker.of(self._components)

    def _make(self, part: Part, software: Mapping[str, Any]) -> Sequence[BaseComponent]:
        context, components = self._context, self._components
        made: list[BaseComponent] = []
        if isinstance(part, Engine):
            for engine in make_engine(context, part, software):
                engine.open_gate()
                components.engines.append(engine)
                self._monitors.add(f"engine {engine.name}", engine)
                made.append(engine)
        elif part.app is not None:
            groups = groups_of(context.experiment, context.plan).get(str(part.name), ())
            program = ProgramComponent(context, part, groups)
            components.programs.append(program)
            made.append(program)
        elif isinstance(part, Producer):
            producer = ProducerComponent(context, part)
            components.producers.append(producer)
            made.append(producer)
        else:
            consumer = ConsumerComponent(context, part)
            components.consumers.append(consumer)
            made.append(consumer)
        return made

    def _attend(self, part: BaseComponent) -> None:
        """Wait until a job is ready. A producer of ours begins to send then; its schedule counts from that moment."""
        try:
            wait_until(
                lambda: part.ready() or part.over,
                timeout_s=part.ready_timeout_s() if isinstance(part, EngineComponent) else READY_TIMEOUT_S,
                reason=f"{part.name} to be ready",
            )
        except S2gError as error:
            self._run.recorder.tell("warning", what=str(error))
            return
        if not part.ready() or self._is_load_over:
            return
        self._run.recorder.tell("ready", component=part.name, host=part.host)
        if isinstance(part, ProducerComponent):
            part.open_gate(time.monotonic_ns() + int(LEAD_S * 1e9))

    def _name_components(self, joining: Mapping[str, str] | None = None) -> None:
        """Let names resolve to where components are, and to where those will be that are about to start."""
        try:
            self._context.network.name_components({**self._where(), **(joining or {})})
        except (S2gError, OSError) as error:  # a full disk of a host, for example
            self._run.recorder.tell("warning", what=f"names of components may not resolve: {error}")


def _why_observation_stays(part: Part | None) -> str:
    if part is not None and part.app is not None and part.observe == "wire":
        return "its packets are captured on its host (observe: wire)"
    return ""
