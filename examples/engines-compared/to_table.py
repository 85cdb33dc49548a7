"""Writes a topic into a table with Spark, exactly once: each part of a batch in one transaction with its number.

A batch that Spark repeats has the same number and the same messages, because both are in its checkpoint.
"""

import os
from collections.abc import Iterable

import pymysql
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row, SparkSession

STORE = {key: os.environ[f"S2G_STORE_{key.upper()}"] for key in ("host", "user", "password", "database")}
PORT = int(os.environ["S2G_STORE_PORT"])


def write(batch: DataFrame, number: int) -> None:
    batch.foreachPartition(lambda rows: write_part(number, rows))


def write_part(number: int, rows: Iterable[Row]) -> None:
    part = TaskContext.get().partitionId()
    with pymysql.connect(**STORE, port=PORT) as connection, connection.cursor() as cursor:
        if cursor.execute("INSERT IGNORE INTO parts VALUES (%s, %s)", (number, part)):
            cursor.executemany("INSERT INTO copies VALUES (%s)", [(row.message,) for row in rows])
        connection.commit()


spark = SparkSession.builder.appName("to-table").getOrCreate()
query = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", os.environ["S2G_BOOTSTRAP"])
    .option("subscribe", "in")
    .option("startingOffsets", "earliest")
    .load()
    .selectExpr("cast(value AS string) AS message")
    .writeStream.queryName("copy")
    .foreachBatch(write)
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy")
    .start()
)
query.awaitTermination()
