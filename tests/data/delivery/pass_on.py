"""Copies the topic ``in`` to ``out``."""

import os

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
brokers = os.environ["S2G_BOOTSTRAP"]
lines = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", "in").load()
query = (
    lines.select("value")
    .writeStream.queryName("copy")
    .format("kafka")
    .option("kafka.bootstrap.servers", brokers)
    .option("topic", "out")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"])
    .start()
)
query.awaitTermination()
