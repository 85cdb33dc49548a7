"""Copies a topic into another, in micro-batches with the default trigger, or in Real-Time Mode."""

import os
import sys

from pyspark.sql import SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]
# A batch of Real-Time Mode lasts longer than a run, because the driver makes its round trips between two of them.
TRIGGERS = {"micro-batch": {"processingTime": "0 seconds"}, "real-time": {"realTime": "1 minute"}}

(mode,) = sys.argv[1:]

spark = SparkSession.builder.appName("copy").getOrCreate()
messages = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "in")
    .option("startingOffsets", "latest")
    .load()
)
query = (
    messages.selectExpr("CAST(value AS STRING) AS value")
    .writeStream.queryName("copy")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "out")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy")
    .outputMode("update")
    .trigger(**TRIGGERS[mode])
    .start()
)
query.awaitTermination()
