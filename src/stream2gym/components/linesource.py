"""A socket source on its host: serves a file or made-up lines at a rate to whoever connects, from t0 on."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from stream2gym.clients.linesource import LineSourceConfig
from stream2gym.components.base import ProcessComponent
from stream2gym.components.causes import death
from stream2gym.components.stage import Stage
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.components.words import ClientWords, word_listener
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.spec.model import Source

GRACE_S = 8.0


class LineSource(ProcessComponent):
    """``done`` when it has sent all its lines, though it keeps its clients."""

    def __init__(self, stage: Stage, part: Source, base: Path) -> None:
        name, host = str(part.name), stage.host_of(str(part.name))
        self._stage, self._part, self._base = stage, part, base
        self._gate: int | None = None
        self._t0_ns: int | None = None
        self._done = False
        self.words = ClientWords()
        self.log = stage.folder.log_path(host, name)
        policy = RestartPolicy(part.restart.times, float(part.restart.delay))
        unit = Unit(name, host, self._launch, self._tell, policy=policy, grace_s=GRACE_S)
        super().__init__(name, "source", host, [unit])

    def ready(self) -> bool:
        return self.words.ready

    @property
    def over(self) -> bool:
        return self._done or super().over

    def why_not_ready(self) -> str:
        return f"it does not listen on port {self._part.port}"

    def cause(self) -> str:
        return "; ".join(self.words.problems)

    def open_gate(self, t0_ns: int) -> None:
        self._t0_ns = t0_ns
        if self._gate is not None:
            os.write(self._gate, f"{t0_ns}\n".encode())

    def _launch(self, _start: int) -> Process:
        stage, part = self._stage, self._part
        out = (stage.folder.work / self.name).absolute()
        out.mkdir(parents=True, exist_ok=True)
        config = LineSourceConfig(
            address=stage.address_of(self.host),
            port=part.port,
            record=str(out / "lines.txt"),
            file=None if part.file is None else str(self._base.absolute() / part.file),
            lines=part.lines,
            rate=None if part.rate is None else float(part.rate),
            seed=stage.plan.seed,
            duration_s=float(stage.experiment.time),
        )
        path = f"{WORK}/{self.name}.json"
        stdin, gate = os.pipe()
        if self._gate is not None:
            os.close(self._gate)
        self._gate = gate
        self.words.began()
        try:
            process = stage.spawn(
                self.host,
                [sys.executable, "-m", "stream2gym.clients.linesource", path],
                name=self.name,
                log=self.log,
                on_line=word_listener(self.log, self._hear),
                stdin=stdin,
                files={path: json.dumps(config.to_json()).encode()},
            )
        finally:
            os.close(stdin)
        if self._t0_ns is not None:
            os.write(gate, f"{self._t0_ns}\n".encode())
        return process

    def _tell(self, kind: str, **details: Any) -> None:
        if kind == "died":
            details |= death(self.log, self.cause())
        self._stage.tell(kind, **details)

    def _hear(self, said: dict[str, Any]) -> None:
        self.words.hear(said)
        event = said.get("event")
        if event == "done":
            self._done = True
        if event in ("connected", "left"):
            self._stage.tell(str(event), at_ns=int(said["at_ns"]), component=self.name, host=self.host)
        if "sent" in said:
            self._stage.sample("client", self.name, "lines", said["sent"], at_ns=int(said["at_ns"]))
