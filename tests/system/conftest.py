"""What the system tests of runs share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.users import User, myself


class Running:
    """A run that goes on while the test looks at it."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        self.path = path
        self.process = process
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.decode(errors="replace"))

    def wait_for(self, text: str, within_s: float = 60.0) -> None:
        """Until a line of its output has this text."""
        deadline = time.monotonic() + within_s
        while not any(text in line for line in self.lines):
            assert time.monotonic() < deadline, f"no {text!r} in {self.lines}"
            assert self.process.poll() is None or any(text in line for line in self.lines), self.lines
            time.sleep(0.01)

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Ctrl-C, or another signal, as a terminal sends it: to the whole group."""
        os.killpg(self.process.pid, number)

    def end(self, within_s: float = 60.0) -> int:
        code = self.process.wait(within_s)
        self._thread.join(5)
        return code

    @property
    def output(self) -> str:
        return "".join(self.lines)

    @property
    def info(self) -> dict[str, Any]:
        return json.loads((self.path / "run.json").read_text())  # type: ignore[no-any-return]

    def events(self, kind: str) -> list[dict[str, Any]]:
        lines = (self.path / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]


class Starter:
    """Writes experiments and runs them."""

    def __init__(self, folder: Path, user: User, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._env = dict(env or {})
        self._user = user
        self._started: list[Running] = []

    def write(self, text: str, name: str = "experiment.yaml") -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, experiment: str | Path, *options: str, out: str = "run") -> Running:
        path = self.folder / out
        process = self._user.popen(
            "run", str(experiment), "--out", str(path), *options,
            cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            start_new_session=True, env=self._env,
        )  # fmt: skip
        self._started.append(Running(path, process))
        return self._started[-1]

    def close(self) -> None:
        for running in self._started:
            if running.process.poll() is None:
                running.process.kill()
            running.process.wait()


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[Starter]:
    made = Starter(tmp_path, myself())
    yield made
    made.close()
