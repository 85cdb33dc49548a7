"""What every component of a run stands on: the network, the run folder, and where its words go."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.components.lines import LineReader
from stream2gym.components.unit import Tell
from stream2gym.hosts.emulation import EmulatedNetwork
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.plan.model import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.spec.model import Experiment

# Components give way to the fabric, which must be on time. For root it has real-time priority, which needs no help.
NICENESS = 0 if os.geteuid() == 0 else 5


@dataclass
class Stage:
    """One for a run. ``tell(kind, **details)`` writes an event down and shows it; ``sample(source, object,
    metric, value, at_ns=...)`` writes a number down. Any thread may call either."""

    experiment: Experiment
    plan: Plan
    network: EmulatedNetwork
    folder: RunFolder
    lines: LineReader
    tell: Tell
    sample: Callable[..., None]
    root: Path  # working directory of the user's programs

    def host_of(self, component: str) -> str:
        return next(part.host for part in self.plan.components if part.name == component)

    def address_of(self, host: str) -> str:
        return next(one.address for one in self.plan.network.hosts if one.name == host)

    def log_path(self, host: str, component: str, instance: int, instances: int) -> Path:
        name = component if instances == 1 else f"{component}.{instance}"
        return self.folder.log_path(host, name)

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
        """Start a program whose errors, and without ``on_line`` whose output too, go to the log."""
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
    """A listener of lines that passes on those that are JSON objects."""

    def on_line(line: bytes) -> None:
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                listener(value)

    return on_line


def end_of_log(path: Path, lines: int = 15) -> str:
    """The last lines of a log, for a person who wants to know why."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - lines * 1024))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
