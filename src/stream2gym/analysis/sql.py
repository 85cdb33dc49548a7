"""Helpers for Spark SQL: views of the tables, small tables, several groupings in one job, queries side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.inputs import Inputs
from stream2gym.record.schemas import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_A_PARTITION = 200_000
FEW_VALUES = 500  # rows of a small table that are written into the SQL; parsing more would take too long
FEW_ROWS = 200_000  # up to so many messages, compiling a query costs more time than it saves
_SQL_TYPES = {int: "BIGINT", bool: "BOOLEAN", str: "STRING"}
_TYPES = {"int32": "INT", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}

Row = Any  # pyspark.sql.Row: fields by name


def open_views(session: SparkSession, inputs: Inputs) -> None:
    """Make the views ``sent`` and ``received`` known to Spark SQL, and set it up for as many rows as they have.

    What engines fetched is not in ``received``. An engine assigns partitions to itself, reads offsets again when it
    likes, and may leave some out: no message is owed to it, and one that it fetched twice was not delivered twice.
    """
    rows = max(inputs.rows.get("sent", 0), inputs.rows.get("received", 0))
    few = has_few_messages(inputs)
    settings = {
        "spark.sql.shuffle.partitions": "1" if few else str(max(2, -(-rows // ROWS_A_PARTITION))),
        "spark.sql.adaptive.enabled": str(not few).lower(),
        "spark.sql.codegen.wholeStage": str(not few).lower(),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN" if few else "FALLBACK",
    }
    for name, value in settings.items():
        session.conf.set(name, value)
    by_place = bool(inputs.unpaced_producers) and has_foreign_receipts(inputs)
    for name in ("sent", "received"):
        columns = ", ".join(f"`{field.name}` {_TYPES.get(str(field.type), 'STRING')}" for field in TABLES[name])
        view = "received_rows" if by_place and name == "received" else name
        rows_of_table = session.read.schema(columns).parquet(str(inputs.table(name).absolute()))
        if name == "received" and inputs.engines_on_wire:
            engines = ", ".join(map(literal, inputs.engines_on_wire))
            rows_of_table = rows_of_table.where(f"consumer NOT IN ({engines})")
        rows_of_table.createOrReplaceTempView(view)
    if by_place:
        session.sql(_recognised_sql(inputs)).createOrReplaceTempView("received")
    open_load_view(session, inputs)


# Messages of the warm-up were due before t0. No performance figure counts them; delivery does.
OF_LOAD = "due_ns >= 0"


def open_load_view(session: SparkSession, inputs: Inputs) -> None:
    """Make the view ``received_in_load``: the receipts of the load, without those of messages of the warm-up.

    A message of the warm-up may be received after t0. Results behind an engine that forwards no header cannot be told
    apart by it: of them those before t0 are left out.
    """
    if not inputs.has_warmup:
        session.sql("SELECT * FROM received").createOrReplaceTempView("received_in_load")
        return
    session.sql(f"""
        SELECT r.* FROM received r LEFT ANTI JOIN (SELECT producer, seq FROM sent WHERE NOT {OF_LOAD}) w
        ON r.producer = w.producer AND r.seq = w.seq WHERE r.at_ns >= 0""").createOrReplaceTempView(
        "received_in_load"
    )


def has_foreign_receipts(inputs: Inputs) -> bool:
    """Whether some received message had no header of ours; from what the table says of its columns."""
    import pyarrow.parquet as pq

    about = pq.read_metadata(inputs.table("received"))
    at = about.schema.names.index("seq")
    return any(
        (found := about.row_group(number).column(at).statistics) is None or found.null_count > 0
        for number in range(about.num_row_groups)
    )


def _recognised_sql(inputs: Inputs) -> str:
    """Receipts, where a message without header is recognised by its place in Kafka's log.

    Programs may send without header, and in batches that can have none. Their acknowledgements name the places. A
    place that was acknowledged twice, in a topic that was made again, tells nothing.
    """
    columns = ", ".join(
        f"coalesce(r.{field.name}, s.{field.name}) AS {field.name}"
        if field.name in ("producer", "seq")
        else f"r.`{field.name}`"
        for field in TABLES["received"]
    )
    return f"""
        SELECT {columns} FROM received_rows r LEFT JOIN (
          SELECT topic, partition, offset, max(producer) AS producer, max(seq) AS seq FROM sent
          WHERE {unpaced_sql(inputs)} AND offset IS NOT NULL
          GROUP BY topic, partition, offset HAVING count(*) = 1) s
        ON r.seq IS NULL AND r.topic = s.topic AND r.partition = s.partition AND r.offset = s.offset"""


def create_small_table(
    session: SparkSession, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Create a view of a few rows, at least one, that Spark broadcasts where it is joined."""
    from pyspark.sql import functions

    frame: DataFrame
    if len(rows) <= FEW_VALUES:
        values = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
        frame = session.sql(f"SELECT * FROM VALUES {values} AS t({', '.join(columns)})")
    else:
        # As one JSON text: Spark would start a Python worker for a list of rows.
        fields = ", ".join(f"{name} {_SQL_TYPES[type(value)]}" for name, value in zip(columns, rows[0], strict=True))
        text = json.dumps([dict(zip(columns, row, strict=True)) for row in rows])
        frame = session.sql(f"SELECT inline(from_json({literal(text)}, 'array<struct<{fields}>>'))")
    functions.broadcast(frame).createOrReplaceTempView(name)


def unpaced_sql(inputs: Inputs, column: str = "producer") -> str:
    """SQL that is true for messages without due times, by the column of their producer."""
    names = ", ".join(map(literal, sorted(inputs.unpaced_producers)))
    return f"({column} IN ({names}))" if names else "false"


def literal(value: Any) -> str:
    """A value as a literal of SQL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value}L"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True)
class Grouping:
    """How to count the rows of a table: by keys (SQL expressions by name), with the sum and extremes of a value."""

    keys: dict[str, str]
    value: str = "CAST(NULL AS BIGINT)"
    where: str = "true"


def count_groupings(session: SparkSession, source: str, groupings: Mapping[str, Grouping]) -> dict[str, list[Row]]:
    """Count a table by several groupings in one job. A row has the keys, n, bytes, total, least and most.

    Each grouping reads only the columns that it needs, which is cheaper than one pass over all columns.
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


def has_few_messages(inputs: Inputs) -> bool:
    """Whether a run has so few messages that planning a query takes longer than running it."""
    return max(inputs.rows.get("sent", 0), inputs.rows.get("received", 0)) <= FEW_ROWS


def ask_at_once(inputs: Inputs, *questions: Callable[[], Any]) -> list[Any]:
    """Ask several questions at once, because planning one query can overlap with running another.

    In a run with many messages they are asked one after the other, because each keeps all cores busy and needs much
    memory.
    """
    with ThreadPoolExecutor(len(questions) if has_few_messages(inputs) else 1) as pool:
        return [future.result() for future in [pool.submit(question) for question in questions]]
