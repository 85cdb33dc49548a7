"""Copies a topic into another with Spark, in micro-batches or in Real-Time Mode."""

import os
import sys

from pyspark.sql import SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]
TRIGGERS = {"micro-batch": {"processingTime": "0 seconds"}, "real-time": {"realTime": "5 seconds"}}

spark = SparkSession.builder.appName("copy").getOrCreate()
query = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "in")
    .option("startingOffsets", "earliest")
    .load()
    .selectExpr("key", "value")
    .writeStream.queryName("copy")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "out")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy")
    .outputMode("update")
    .trigger(**TRIGGERS[sys.argv[1]])
    .start()
)
query.awaitTermination()
