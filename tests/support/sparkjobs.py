"""Spark programs and the experiments around them, as several suites use them."""

from __future__ import annotations

from typing import Any

from tests.support.play import star

UPPER = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
brokers = os.environ["S2G_BOOTSTRAP"]
lines = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
         .option("subscribe", "in").option("startingOffsets", "START").load())
query = (lines.selectExpr("upper(cast(value as string)) as value").writeStream.queryName("upper")
         .format("kafka").option("kafka.bootstrap.servers", brokers).option("topic", "out")
         .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/upper").start())
query.awaitTermination()
"""


def between_topics(app: str = "job.py", **engine: Any) -> dict[str, Any]:
    return {
        "topology": star(3),
        "brokers": [{"on": "h2"}],
        "topics": ["in", "out"],
        "producers": [{"name": "gen", "on": "h1", "topic": "in", "rate": "50/s", "messages": 150}],
        "engines": [{"name": "job", "on": "h3", "type": "Spark", "app": app, **engine}],
        "consumers": [{"name": "see", "on": "h1", "topics": ["out"]}],
        "time": "10 s",
        "drain": "60 s",
    }
