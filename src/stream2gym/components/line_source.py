"""A line source on its host: from t0 on it sends the lines of a file, or generated ones, to whoever connects."""

from __future__ import annotations

import json
import os
from typing import Any

from stream2gym.clients.line_source import LineSourceConfig
from stream2gym.components.base_component import BaseComponent
from stream2gym.components.component_process import ComponentProcess, RestartPolicy
from stream2gym.components.death_cause import death
from stream2gym.components.run_context import RunContext
from stream2gym.components.status_lines import ClientStatus, status_listener
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.own_python import own_python
from stream2gym.spec.model import Source

GRACE_S = 8.0


class LineSource(BaseComponent):
    """The line source client on its host. It is over when it has sent all lines, but keeps its connections."""

    def __init__(self, context: RunContext, part: Source) -> None:
        name, host = str(part.name), context.host_of(str(part.name))
        self._context = context
        self._part = part
        self._gate: int | None = None
        self._t0_ns: int | None = None
        self._done = False
        self.status = ClientStatus()
        self.log = context.folder.log_path(host, name)
        policy = RestartPolicy.of(part.restart)
        process = ComponentProcess(name, host, self._launch, self._tell, policy=policy, grace_s=GRACE_S)
        super().__init__(name, "source", host, [process])

    def ready(self) -> bool:
        return self.status.ready

    @property
    def over(self) -> bool:
        return self._done or super().over

    def why_not_ready(self) -> str:
        return f"it does not listen on port {self._part.port}"

    def cause(self) -> str:
        return "; ".join(self.status.problems)

    def open_gate(self, t0_ns: int) -> None:
        """Tell it when t0 is, after a later start, too."""
        self._t0_ns = t0_ns
        if self._gate is not None:
            os.write(self._gate, f"{t0_ns}\n".encode())

    def _launch(self, _start: int) -> Process:
        context, part = self._context, self._part
        out = (context.folder.work / self.name).absolute()
        out.mkdir(parents=True, exist_ok=True)
        config = LineSourceConfig(
            address=context.address_of(self.host),
            port=part.port,
            record=str(out / "lines.txt"),
            file=None if part.file is None else str(context.base / part.file),
            lines=part.lines,
            rate=None if part.rate is None else float(part.rate),
            seed=context.plan.seed,
            duration_s=float(context.experiment.time),
        )
        path = f"{WORK}/{self.name}.json"
        stdin, gate = os.pipe()
        if self._gate is not None:
            os.close(self._gate)
        self._gate = gate
        self.status.on_start()
        try:
            process = context.spawn(
                self.host,
                own_python("-m", "stream2gym.clients.line_source", path),
                name=self.name,
                log=self.log,
                on_line=status_listener(self.log, self._on_report),
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
        self._context.tell(kind, **details)

    def _on_report(self, report: dict[str, Any]) -> None:
        self.status.update(report)
        event = report.get("event")
        if event == "done":
            self._done = True
        if event in ("connected", "left"):
            self._context.tell(str(event), at_ns=int(report["at_ns"]), component=self.name, host=self.host)
        if "sent" in report:
            self._context.sample("client", self.name, "lines", report["sent"], at_ns=int(report["at_ns"]))
