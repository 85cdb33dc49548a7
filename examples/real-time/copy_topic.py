"""Copies a topic into another, in micro-batches, or every record as soon as it comes: Real-Time Mode."""

import os
import sys

from pyspark.sql import SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]
TRIGGERS = {"batches": {"processingTime": "0 seconds"}, "real-time": {"realTime": "5 seconds"}}

into, mode = sys.argv[1:]

spark = SparkSession.builder.appName("copy").getOrCreate()
records = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "in")
    .option("startingOffsets", "latest")
    .load()
)
query = (
    records.selectExpr("value")
    .writeStream.queryName("copy")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", into)
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy")
    .outputMode("update")
    .trigger(**TRIGGERS[mode])
    .start()
)
query.awaitTermination()
