"""Programs that run under the recorder as a run starts them, and what stands in their record afterwards.

They run in the Python that S2G_PROGRAM_PYTHON names, if it is set: an older one, with Kafka libraries of its own.

``mock_kafka`` is the small cluster that librdkafka has for tests: it speaks Kafka's protocol without a JVM.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.instrument.settings import VARIABLE, Settings
from stream2gym.record.journal import FAILED, Reader
from stream2gym.record.messages import first_seq
from stream2gym.record.schemas import STATUSES

ON_PATH = Path(__file__).parents[2] / "src/stream2gym/instrument/onpath"

_MOCK = """
import sys
from confluent_kafka import Producer
cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "ignored", "log_level": 0})
broker = next(iter(cluster.list_topics(timeout=10).brokers.values()))
print(f"{broker.host}:{broker.port}", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def mock_kafka() -> Iterator[str]:
    """The address of a cluster of librdkafka's own that lives in a process beside the test."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _MOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@dataclass
class Record:
    """What a program left behind."""

    raw: Path
    stdout: str = ""
    stderr: str = ""
    code: int | None = None

    def sent(self) -> list[dict[str, Any]]:
        """Every sent row with its producer, number, topic, status and error in words."""
        rows = []
        for path in sorted(self.raw.glob("sent.*.journal")):
            reader = Reader(path)
            texts, who = reader.strings(), reader.identity
            for number, row in enumerate(reader.rows()):
                row["seq"] = first_seq(who.instance, who.incarnation) + number
                row |= {"producer": who.name, "journal": path.name, "topic": texts[row["topic"]]}
                row |= {
                    "error": texts[row["error"]],
                    "status": "failed" if row["status"] == FAILED else row["status"],
                }
                if row["status"] != "failed":
                    row["status"] = STATUSES[row["status"]]
                rows.append(row)
        return rows

    def statuses(self, topic: str | None = None) -> dict[str, int]:
        """How many sent rows have which status."""
        return dict(Counter(row["status"] for row in self.sent() if topic in (None, row["topic"])))

    def received(self) -> list[dict[str, Any]]:
        rows = []
        for path in sorted(self.raw.glob("received.*.journal")):
            reader = Reader(path)
            texts = reader.strings()
            for row in reader.rows():
                row |= {"topic": texts[row["topic"]], "producer": texts[row["producer"]]}
                row["group"] = reader.identity.extra["group"]
                rows.append(row)
        return rows

    def committed(self) -> dict[str, int]:
        """The last committed offset of each place."""
        found: dict[str, int] = {}
        for path in sorted(self.raw.glob("samples.*.journal")):
            reader = Reader(path)
            texts = reader.strings()
            for row in reader.rows():
                found[texts[row["metric"]].removeprefix("committed ")] = int(row["value"])
        return found

    def notes(self, event: str | None = None) -> list[dict[str, Any]]:
        lines = [line for path in sorted(self.raw.glob("program.*")) for line in path.read_text().splitlines()]
        return [note for note in map(json.loads, lines) if event in (None, note["event"])]

    def journals(self, schema: str) -> list[str]:
        return sorted(path.name for path in self.raw.glob(f"{schema}.*.journal"))


def recorder_environment(raw: Path, *, header: bool = True, name: str = "app", **more: Any) -> dict[str, str]:
    """The environment in which a program is recorded."""
    settings = Settings(raw=str(raw), name=name, label=name, header=header, group=f"{name}-group", **more)
    return {**os.environ, "PYTHONPATH": str(ON_PATH), VARIABLE: settings.to_text(), "PYTHONUNBUFFERED": "1"}


def find_python(version: str) -> str | None:
    """An interpreter of a version such as 3.9 that is on the PATH or that pyenv has; None where there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    may_look = os.access(root, os.R_OK | os.X_OK)
    installed = sorted(root.glob(f"versions/{version}.*/bin/python{version}")) if may_look else []
    for candidate in (shutil.which(f"python{version}"), *map(str, installed)):
        # A shim of pyenv may stand for a version that is not chosen.
        if candidate and subprocess.run([candidate, "-c", ""], check=False, capture_output=True).returncode == 0:
            return candidate
    return None


def start_program(
    folder: Path,
    text: str,
    *args: str,
    flags: tuple[str, ...] = (),
    record: bool = True,
    python: str | None = None,
    libraries: Path | None = None,
    **settings: Any,
) -> tuple[subprocess.Popen[str], Record]:
    """Start a program, under the recorder unless told otherwise.

    ``python`` is another interpreter than ours, and ``libraries`` a folder that it imports from besides its own.
    """
    raw = folder / "raw"
    raw.mkdir(exist_ok=True)
    program = folder / "program.py"
    program.write_text(textwrap.dedent(text))
    environment = recorder_environment(raw, **settings)
    if not record:
        del environment[VARIABLE], environment["PYTHONPATH"]
    if libraries is not None:
        environment["PYTHONPATH"] = os.pathsep.join((environment.get("PYTHONPATH", ""), str(libraries)))
    process = subprocess.Popen(
        [python or os.environ.get("S2G_PROGRAM_PYTHON") or sys.executable, *flags, str(program), *args],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    return process, Record(raw)


def run_program(folder: Path, text: str, *args: str, timeout_s: float = 60, **options: Any) -> Record:
    """Run a program to its end; it must not fail."""
    process, found = start_program(folder, text, *args, **options)
    try:
        found.stdout, found.stderr = process.communicate(timeout=timeout_s)
    finally:
        process.kill()
        process.wait()
    found.code = process.returncode
    assert found.code == 0, f"{found.stdout}\n{found.stderr}"
    return found
