"""What every component of a run is made with: the experiment, the network, the run folder, the recorder."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.components.cluster import ServingNode
from stream2gym.components.component_process import Tell
from stream2gym.components.line_reader import LineReader
from stream2gym.components.status_lines import odd_numbers_in, samples_in
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.emulation import EmulatedNetwork
from stream2gym.hosts.process import Process
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.record.instances import instance_label
from stream2gym.spec.model import Experiment

# Components give way to the fabric, which must be on time. Root's fabric has real-time priority and needs no help.
NICENESS = 0 if os.geteuid() == 0 else 5


@dataclass
class RunContext:
    """One for each run.

    ``tell(kind, **details)`` writes an event down and shows it. ``sample(source, object, metric, value, at_ns=...)``
    writes a number down. Any thread may call either.
    """

    experiment: Experiment
    plan: Plan
    # Relative paths of the experiment are resolved against this folder, which is absolute.
    base: Path
    # The nodes of the cluster, of Kafka or of RabbitMQ.
    nodes: tuple[ServingNode, ...]
    network: EmulatedNetwork
    folder: RunFolder
    lines: LineReader
    tell: Tell
    sample: Callable[..., None]
    # The working directory of the user's programs.
    root: Path

    def host_of(self, component: str) -> str:
        """The name of the host of a component."""
        return next(part.host for part in self.plan.components if part.name == component)

    def address_of(self, host: str) -> str:
        """The address of a host."""
        return next(one.address for one in self.plan.network.hosts if one.name == host)

    def log_path(self, host: str, component: str, instance: int, instances: int) -> Path:
        """The path of the log of one instance of a component that has ``instances`` of them."""
        return self.folder.log_path(host, instance_label(component, instance, instances))

    def record_report(self, component: str, host: str, report: Mapping[str, Any]) -> None:
        """Record what a program of the user's reported in a status line: an event, or samples."""
        if "event" in report:
            known = ("event", "component", "host", "at_ns")
            details = {key: value for key, value in report.items() if key not in known}
            self.tell("program", component=component, host=host, name=str(report["event"]), details=details)
            return
        for metric, value in samples_in(report):
            self.sample("program", component, metric, value)
        odd = odd_numbers_in(report)
        if odd:
            self.tell("warning", what=f"{component} reported no finite number for {', '.join(odd)}: left out")

    def spawn(
        self,
        host: str,
        argv: Sequence[str],
        *,
        name: str,
        log: Path,
        on_line: Callable[[bytes], None] | None = None,
        stdin: int | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path = WORK,
        files: Mapping[str, bytes] | None = None,
        niceness: int = NICENESS,
    ) -> Process:
        """Start a program on a host. Its standard error goes to the log.

        Every line of its standard output goes to ``on_line``; without it, the output goes to the log, too.
        """
        with contextlib.ExitStack() as ours:
            errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            ours.callback(os.close, errors)
            output = errors
            if on_line is not None:
                output = self.lines.open(on_line)
                ours.callback(os.close, output)
            if stdin is None:
                stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
                ours.callback(os.close, stdin)
            return self.network.spawn(
                host,
                argv,
                name=name,
                env=env,
                cwd=cwd,
                stdio=(stdin, output, errors),
                files=files,
                niceness=niceness,
            )


def json_lines(listener: Callable[[dict[str, Any]], None]) -> Callable[[bytes], None]:
    """A listener of lines that passes JSON objects on and drops other lines."""

    def on_line(line: bytes) -> None:
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                listener(value)

    return on_line


def end_of_log(path: Path, lines: int = 15) -> str:
    """The last lines of a log; empty if there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - lines * 1024))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
