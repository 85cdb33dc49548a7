"""Small helpers between our questions and Spark SQL: views of the tables, several groupings in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.inputs import Inputs
from stream2gym.record.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_A_PARTITION = 400_000
FEW_ROWS = 200_000  # up to here compiling a query costs more than it saves
_TYPES = {"int32": "INT", "int64": "BIGINT", "double": "DOUBLE"}

Row = Any  # pyspark.sql.Row: fields by name


def open_views(session: SparkSession, inputs: Inputs) -> None:
    """Make ``sent`` and ``received`` known to Spark SQL, which is set up for as many rows as there are."""
    rows = max(inputs.rows.get("sent", 0), inputs.rows.get("received", 0))
    few = rows <= FEW_ROWS
    settings = {
        "spark.sql.shuffle.partitions": "1" if few else str(max(2, -(-rows // ROWS_A_PARTITION))),
        "spark.sql.adaptive.enabled": str(not few).lower(),
        "spark.sql.codegen.wholeStage": str(not few).lower(),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN" if few else "FALLBACK",
    }
    for name, value in settings.items():
        session.conf.set(name, value)
    for name in ("sent", "received"):
        columns = ", ".join(
            f"`{field.name}` {_TYPES.get(str(field.type), 'STRING')}" for field in TABLES[name]
        )
        session.read.schema(columns).parquet(str(inputs.table(name).absolute())).createOrReplaceTempView(name)


def small_table(session: SparkSession, name: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    """A table of ours that Spark sends to wherever it is joined."""
    from pyspark.sql import functions

    frame: DataFrame = session.createDataFrame([tuple(row) for row in rows], columns)
    functions.broadcast(frame).createOrReplaceTempView(name)


def grouped(
    session: SparkSession,
    source: str,
    sets: Mapping[str, Sequence[str]],
    aggregates: str,
) -> dict[str, list[Row]]:
    """Aggregate a query by several sets of columns in one pass; rows by the name of their set."""
    columns = list(dict.fromkeys(column for grouping in sets.values() for column in grouping))
    names = {_grouping_id(columns, grouping): name for name, grouping in sets.items()}
    lists = ", ".join(f"({', '.join(grouping)})" for grouping in sets.values())
    text = (
        f"SELECT grouping_id() AS grouping, {', '.join(columns)}, {aggregates} FROM ({source}) "
        f"GROUP BY GROUPING SETS ({lists})"
    )
    found: dict[str, list[Row]] = {name: [] for name in sets}
    for row in session.sql(text).collect():
        found[names[row["grouping"]]].append(row)
    return found


def _grouping_id(columns: Sequence[str], grouping: Sequence[str]) -> int:
    """Spark's number of a grouping: a bit for each column that it leaves out, the first column highest."""
    return sum(1 << (len(columns) - 1 - at) for at, column in enumerate(columns) if column not in grouping)


def together(*questions: Callable[[], Any]) -> list[Any]:
    """Ask several questions at once: planning one overlaps with running another."""
    with ThreadPoolExecutor(len(questions)) as pool:
        return [future.result() for future in [pool.submit(question) for question in questions]]
