"""Runs experiments inside tests, with what tests need around a run: where its record goes, which runs are kept,
figures for the test report, and a text that explains a failure. It knows nothing of pytest."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream2gym.api import Result, perform, prepare
from stream2gym.spec.readers.bundled_examples import bundled_examples

if TYPE_CHECKING:
    from stream2gym.analysis.background_session import BackgroundSession
    from stream2gym.spec.model import Experiment

LOOK_EVERY_S = 0.5
SPARE_SHARE = 0.8


class SharedSession:
    """The Spark session that analyses all runs of a test process. It opens with the first analysis."""

    def __init__(self) -> None:
        self._session: BackgroundSession | None = None

    def get(self) -> BackgroundSession:
        from stream2gym.analysis.background_session import BackgroundSession

        if self._session is None:
            self._session = BackgroundSession()
        return self._session

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


@dataclass(frozen=True)
class GymResult:
    """One run of a test. What it does not have itself is asked of the result of the run."""

    result: Result

    @property
    def passed(self) -> bool:
        return self.result.passed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result, name)

    def value(self, metric: str) -> float | None:
        """What was measured of a metric, in its base unit, such as ``value("latency.p99(topic=in)")``."""
        from stream2gym.judge.compare import parse_metric
        from stream2gym.judge.meters import measure

        if self.result.analysis is None:
            return None
        measured = measure(parse_metric(metric), self.result.analysis, self.result.folder.read_events())
        return max(measured.values.values(), default=None)

    def figures(self) -> dict[str, float | str]:
        """The verdict and the usual metrics in base units, for the test report."""
        from stream2gym.judge.compare import compare

        found: dict[str, float | str] = {"verdict": self.result.verdict}
        if self.result.analysis is not None:
            events = self.result.folder.read_events()
            rows = compare([(self.result.path.name, self.result.analysis, events)]).rows
            found |= {row.text: row.values[0] for row in rows if row.values[0] is not None}
        return found

    def __repr__(self) -> str:
        return f"<run {self.result.path.name}: {self.result.summary}>"


def explain(result: Result) -> str:
    """Why a run did not pass: each expectation with what was measured and its evidence, the findings, the report."""
    from stream2gym.cli.run_summary import SummaryPrinter

    out = io.StringIO()
    if result.error is not None:
        out.write(f"{result.error}\n")
    SummaryPrinter(quiet=False, out=out).result(result)
    return out.getvalue().rstrip()


@dataclass(repr=False)
class Gym:
    """The runs of one test. ``folder`` is where relative paths begin, ``runs`` where records go."""

    folder: Path
    runs: Path
    session: SharedSession
    settings: Mapping[str, Any] = field(default_factory=dict)
    results: list[GymResult] = field(default_factory=list)

    def run(
        self,
        experiment: Experiment | str | Path,
        *,
        set: Mapping[str, Any] | None = None,
        time: str | None = None,
        seed: int | None = None,
    ) -> GymResult:
        """Run an experiment: a path beside the test, the name of a bundled example, or a model.

        ``set`` changes values of it, as ``--set`` does. What is wrong with the experiment raises BadInput.
        """
        __tracebackhide__ = True
        found = self._find(experiment) if isinstance(experiment, str | Path) else experiment
        planned, loaded = prepare(found, time=time, overrides={**self.settings, **(set or {})}, seed=seed)
        name = planned.experiment.name
        out = self.runs / f"{name}-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        with take_memory(planned.experiment):
            result = perform(planned, loaded, out=out, session=self.session.get())
        if result.analysis is None:
            # A session whose JVM died must not spoil the runs after this one.
            self.session.close()
        if result.state == "interrupted":
            raise KeyboardInterrupt
        self.results.append(GymResult(result))
        return self.results[-1]

    def __repr__(self) -> str:
        return f"<gym with {len(self.results)} runs>"

    def _find(self, experiment: str | Path) -> Path | str:
        """A path beside the test, or else as it stands."""
        beside = self.folder / experiment
        if beside.exists():
            return beside / "experiment.yaml" if (beside / "experiment.yaml").is_file() else beside
        if isinstance(experiment, str) and experiment in bundled_examples():
            return experiment
        return experiment if Path(experiment).exists() else beside

    def list_figures(self) -> Iterator[tuple[str, float | str]]:
        """The figures of all runs. Those of a second run have its number behind their names."""
        for number, result in enumerate(self.results, 1):
            for name, value in result.figures().items():
                yield (name if number == 1 else f"{name} #{number}"), value

    def explain_failures(self) -> str:
        """Why runs did not pass; empty if all did."""
        return "\n\n".join(explain(one.result) for one in self.results if not one.passed)

    def remove_runs(self) -> None:
        for one in self.results:
            shutil.rmtree(one.result.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.runs.rmdir()


@contextlib.contextmanager
def take_memory(experiment: Experiment) -> Iterator[None]:
    """Wait until a run fits into memory beside those of other test processes of the same session (``pytest -n``)."""
    from stream2gym.sweeps.job_limits import estimate_run_bytes, read_free_bytes

    session = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if session is None:
        yield
        return
    ledger = Path(tempfile.gettempdir()) / f"s2g-pytest-{os.getuid()}-{session}.json"
    needed = estimate_run_bytes(experiment)
    while not _enter(ledger, needed, int(read_free_bytes() * SPARE_SHARE)):
        time.sleep(LOOK_EVERY_S)
    try:
        yield
    finally:
        _leave(ledger)


def _enter(ledger: Path, needed: int, free: int) -> bool:
    """Note a run in the ledger of the session, if it fits. A run that is alone always does."""
    with _open_ledger(ledger) as book:
        runs: dict[str, int] = {pid: size for pid, size in book["runs"].items() if _is_alive(int(pid))}
        total = max(book["free"], free) if runs else free
        fits = not runs or sum(runs.values()) + needed <= total
        if fits:
            runs[str(os.getpid())] = needed
        book.update(runs=runs, free=total)
        return fits


def _leave(ledger: Path) -> None:
    with _open_ledger(ledger) as book:
        book["runs"].pop(str(os.getpid()), None)
        is_over = not book["runs"]
    if is_over:
        ledger.unlink(missing_ok=True)


@contextlib.contextmanager
def _open_ledger(path: Path) -> Iterator[dict[str, Any]]:
    """The ledger as a mapping, locked while the block runs, and written at its end."""
    import fcntl

    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = file.read()
        book: dict[str, Any] = json.loads(text) if text else {"runs": {}, "free": 0}
        yield book
        file.seek(0)
        file.truncate()
        json.dump(book, file)


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
