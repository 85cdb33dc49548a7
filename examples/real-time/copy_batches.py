"""Copies a topic, one micro-batch after the other."""

import os

from pyspark.sql import SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]

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
    .option("topic", "batched")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy")
    .outputMode("update")
    .trigger(processingTime="0 seconds")
    .start()
)
query.awaitTermination()
