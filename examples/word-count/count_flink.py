"""The words of all files, counted by one PyFlink program with the Table API."""

import os
import re

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udtf

KAFKA = f"'properties.bootstrap.servers' = '{os.environ['S2G_BOOTSTRAP']}'"


@udtf(result_types=[DataTypes.STRING()])
def words_of(message):
    """A message is a file's text and a trailer that names topic and file."""
    for word in re.findall(r"[a-z]+", message.rpartition(" Topic: ")[0].lower()):
        yield (word,)


tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
tables.execute_sql(f"""
    CREATE TABLE files (text STRING) WITH (
        'connector' = 'kafka', 'topic' = 'files', {KAFKA}, 'properties.group.id' = 'count',
        'scan.startup.mode' = 'earliest-offset', 'format' = 'raw')""")
tables.execute_sql(f"""
    CREATE TABLE top (word STRING, total BIGINT, PRIMARY KEY (word) NOT ENFORCED) WITH (
        'connector' = 'upsert-kafka', 'topic' = 'top', {KAFKA}, 'key.format' = 'raw', 'value.format' = 'json')""")
(
    tables.from_path("files")
    .join_lateral(words_of(col("text")).alias("word"))
    .group_by(col("word"))
    .select(col("word"), lit(1).count.alias("total"))
    .execute_insert("top")
    .wait()
)
