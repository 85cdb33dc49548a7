"""Copies a topic into another, in micro-batches with the default trigger, or in Real-Time Mode."""

import os
import sys

from pyspark.sql import SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]
TRIGGERS = {"micro-batch": {"processingTime": "0 seconds"}, "real-time": {"realTime": "5 seconds"}}

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
