"""A recorded run in Python and in notebooks: its tables as Arrow, pandas and Spark, its figures, what it found.

import stream2gym
run = stream2gym.load_run("latest")
run                                # in a notebook: the verdict, the findings, the expectations
run.arrow("sent"), run.pandas("audit"), run.spark("received")
run.figure("latency")              # shows itself; .svg, .pdf(), .png(), .save("latency.pdf")
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.run_tables import find_recorded, list_tables, read_rows
from stream2gym.errors import BadInput, Mistake
from stream2gym.figures.figure import Figure, Table
from stream2gym.figures.figure_csv import make_slug
from stream2gym.figures.markup import EMPTY, Markup, element, empty_element, join
from stream2gym.figures.svg import render_file
from stream2gym.judge.compare import parse_metric
from stream2gym.judge.judge import judge
from stream2gym.judge.meters import measure
from stream2gym.judge.verdict import Verdict
from stream2gym.record.export import make_table
from stream2gym.record.folder import RunFolder, find_run
from stream2gym.report.facts import Facts, read_facts
from stream2gym.report.write import make_sections
from stream2gym.spec.findings import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SESSIONS = contextlib.ExitStack()
atexit.register(_SESSIONS.close)


def load_run(run: str | Path = "latest") -> RecordedRun:
    """A recorded run: its folder, its name, or ``latest`` of the runs in the working directory."""
    return RecordedRun(find_run(str(run)))


class RecordedRun:
    """What one run recorded and found. Nothing in its folder changes."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def state(self) -> str:
        return self.folder.state

    @cached_property
    def _facts(self) -> Facts:
        return read_facts(self.folder.path)

    @property
    def verdict(self) -> str:
        """pass, fail or unknown; unknown before the run is judged."""
        return self._facts.verdict.outcome if self._facts.verdict else "unknown"

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def judged(self) -> Verdict | None:
        """The verdict with every expectation and its evidence. None: the run has not been judged."""
        return self._facts.verdict

    @property
    def analysis(self) -> Any:
        """All tables of the analysis as objects. None: the run has not been analysed."""
        return self._facts.analysis

    @property
    def findings(self) -> tuple[str, ...]:
        """What the run showed, in a few sentences."""
        return tuple(finding.text for finding in self._facts.findings)

    def value(self, metric: str) -> float | None:
        """What was measured of a metric, in its base unit, such as ``value("latency.p99(topic=in)")``."""
        if self._facts.analysis is None:
            return None
        measured = measure(parse_metric(metric), self._facts.analysis, self.folder.read_events())
        return max(measured.values.values(), default=None)

    def judge(self, *expectations: str) -> Verdict:
        """Judge the run by other expectations."""
        if self._facts.analysis is None:
            raise BadInput(Mistake(self.path.name, "has not been analysed", "s2g report RUN --again analyses it"))
        return judge(expectations, self._facts.analysis, self.folder.read_events())

    # ---- tables

    @property
    def tables(self) -> list[str]:
        """The names of all tables."""
        return list_tables(self.folder)

    def arrow(self, table: str) -> Any:
        """A table as a pyarrow table."""
        import pyarrow.parquet as pq

        self._check_table(table)
        recorded = find_recorded(self.folder, table)
        if recorded is not None:
            return pq.read_table(recorded)
        return make_table(read_rows(self.folder, table, self._facts.analysis))

    def pandas(self, table: str) -> Any:
        """A table as a pandas DataFrame. ImportError says how to install pandas."""
        if importlib.util.find_spec("pandas") is None:
            raise ImportError("pandas is not installed here: pip install pandas; arrow() needs nothing")
        return self.arrow(table).to_pandas()

    def spark(self, table: str, session: SparkSession | None = None) -> DataFrame:
        """A table as a Spark DataFrame, in the session that is given, in the active one, or in one of ours."""
        self._check_table(table)
        used = session or find_session()
        recorded = find_recorded(self.folder, table)
        if recorded is not None:
            return used.read.parquet(str(recorded.resolve()))
        rows = self.arrow(table)
        return used.createDataFrame(rows.to_pylist(), _make_spark_schema(rows.schema))

    def _check_table(self, name: str) -> None:
        if name not in self.tables:
            hint = did_you_mean(name, self.tables) or f"tables: {', '.join(self.tables)}"
            raise BadInput(Mistake(name, "there is no such table", hint))

    # ---- figures

    @cached_property
    def _figures(self) -> dict[str, Figure]:
        exhibits = [exhibit for section in make_sections(self._facts) for exhibit in section.exhibits]
        return {make_slug(one.name): one for one in exhibits if not isinstance(one, Table)}

    @property
    def figures(self) -> list[str]:
        """The names of all figures of the report."""
        return list(self._figures)

    def figure(self, name: str) -> ShownFigure:
        """A figure by its name, or the first one whose name begins so."""
        found = self._figures.get(name) or next(
            (figure for slug, figure in self._figures.items() if slug.startswith(f"{name}-")), None
        )
        if found is None:
            hint = did_you_mean(name, self.figures) or f"figures: {', '.join(self.figures)}"
            raise BadInput(Mistake(name, "there is no such figure in this run", hint))
        return ShownFigure(found)

    # ---- how it shows itself

    def __repr__(self) -> str:
        return f"<run {self.path.name}: {self.verdict}>"

    def _repr_html_(self) -> str:
        """The verdict, the findings and the expectations."""
        head = element("h3", f"{self._facts.name}: {self.verdict}")
        told = join(element("p", text) for text in self.findings)
        judgements = self._facts.verdict.judgements if self._facts.verdict else ()
        rows = [(one.outcome, one.text, one.shown or one.reason) for one in judgements]
        return (head + told + _make_grid(("", "expectation", "measured"), rows)).source


@dataclass(frozen=True)
class ShownFigure:
    """A figure that a notebook shows, and that can be written as SVG, PDF or PNG."""

    figure: Figure

    @property
    def svg(self) -> str:
        return render_file(self.figure)

    def pdf(self) -> bytes:
        from stream2gym.figures.pdf import render_pdf

        return render_pdf(self.figure)

    def png(self) -> bytes:
        """Needs the extra ``png`` of stream2gym."""
        from stream2gym.figures.png import render_png

        return render_png(self.figure)

    def save(self, path: str | Path) -> Path:
        """Write the figure in the format that the suffix of the path names."""
        target = Path(path)
        makers = {".svg": lambda: self.svg.encode("utf-8", "replace"), ".pdf": self.pdf, ".png": self.png}
        make = makers.get(target.suffix)
        if make is None:
            raise BadInput(Mistake(str(path), "names no format", ".svg, .pdf or .png"))
        target.write_bytes(make())
        return target

    def _repr_html_(self) -> str:
        """The drawing as an image of its own, so that its style and that of the notebook do not meet."""
        data = base64.b64encode(self.svg.encode("utf-8", "replace")).decode()
        return empty_element("img", src=f"data:image/svg+xml;base64,{data}", alt=self.figure.title).source

    def __repr__(self) -> str:
        return f"<figure {make_slug(self.figure.name)}: {self.figure.title}>"


def find_session() -> SparkSession:
    """The active Spark session, or one of ours, which ends with the process."""
    from pyspark.sql import SparkSession

    from stream2gym.analysis.session import open_session

    return SparkSession.getActiveSession() or _SESSIONS.enter_context(open_session(None))


def _make_spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _make_grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    if not rows:
        return EMPTY
    top = element("tr", *(element("th", cell) for cell in head))
    return element("table", top, *(element("tr", *(element("td", cell) for cell in row)) for row in rows))
