"""Small helpers between our questions and Spark SQL: views of the tables, several groupings in one pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.inputs import Inputs
from stream2gym.record.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_A_PARTITION = 200_000
FEW_VALUES = 500  # as words of SQL; beyond, parsing them costs more than handing them over
FEW_ROWS = 200_000  # up to here compiling a query costs more than it saves
_SQL_TYPES = {int: "BIGINT", bool: "BOOLEAN", str: "STRING"}
_TYPES = {"int32": "INT", "int64": "BIGINT", "double": "DOUBLE"}

Row = Any  # pyspark.sql.Row: fields by name


def open_views(session: SparkSession, inputs: Inputs) -> None:
    """Make ``sent`` and ``received`` known to Spark SQL, which is set up for as many rows as there are."""
    rows = max(inputs.rows.get("sent", 0), inputs.rows.get("received", 0))
    few = is_short(inputs)
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


def small_table(
    session: SparkSession, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """A table of ours that Spark sends to wherever it is joined; it has at least one row."""
    from pyspark.sql import functions

    frame: DataFrame
    if len(rows) <= FEW_VALUES:
        values = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
        frame = session.sql(f"SELECT * FROM VALUES {values} AS t({', '.join(columns)})")
    else:
        # In one word, as JSON: a list of rows would pass through a Python worker of its own.
        fields = ", ".join(
            f"{name} {_SQL_TYPES[type(value)]}" for name, value in zip(columns, rows[0], strict=True)
        )
        text = json.dumps([dict(zip(columns, row, strict=True)) for row in rows])
        frame = session.sql(f"SELECT inline(from_json({literal(text)}, 'array<struct<{fields}>>'))")
    functions.broadcast(frame).createOrReplaceTempView(name)


def literal(value: Any) -> str:
    """A value in the words of SQL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value}L"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True)
class Grouping:
    """Rows of a table counted by keys (SQL expressions by name), with the spread of a value."""

    keys: dict[str, str]
    value: str = "CAST(NULL AS BIGINT)"
    where: str = "true"


def grouped(session: SparkSession, source: str, groupings: Mapping[str, Grouping]) -> dict[str, list[Row]]:
    """Count a table in several ways in one job: rows with the keys, n, bytes, total, least and most.

    Each way reads only the columns that it needs; that is cheaper than one wide pass for all of them.
    """
    names = list(dict.fromkeys(name for grouping in groupings.values() for name in grouping.keys))
    parts = []
    for label, grouping in groupings.items():
        inner = ", ".join(f"{expression} AS {name}" for name, expression in grouping.keys.items())
        outer = ", ".join(name if name in grouping.keys else f"NULL AS {name}" for name in names)
        parts.append(f"""
            SELECT '{label}' AS grouping, {outer}, count(*) AS n, sum(size) AS bytes, sum(took) AS total,
              min(took) AS least, max(took) AS most
            FROM (SELECT {inner}, size, {grouping.value} AS took FROM {source} WHERE {grouping.where})
            GROUP BY {", ".join(grouping.keys)}""")
    found: dict[str, list[Row]] = {label: [] for label in groupings}
    for row in session.sql(" UNION ALL ".join(parts)).collect():
        found[row["grouping"]].append(row)
    return found


def is_short(inputs: Inputs) -> bool:
    """Whether the run has so few messages that planning a query takes longer than running it."""
    return max(inputs.rows.get("sent", 0), inputs.rows.get("received", 0)) <= FEW_ROWS


def together(inputs: Inputs, *questions: Callable[[], Any]) -> list[Any]:
    """Ask several questions at once: planning one overlaps with running another.

    With many messages one after the other, since then each keeps all cores busy and wants all the memory.
    """
    with ThreadPoolExecutor(len(questions) if is_short(inputs) else 1) as pool:
        return [future.result() for future in [pool.submit(question) for question in questions]]
