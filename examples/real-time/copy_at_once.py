"""Copies a topic, every record as soon as it comes: Real-Time Mode."""

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
    .option("topic", "instant")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy")
    .outputMode("update")
    .trigger(realTime="5 seconds")
    .start()
)
query.awaitTermination()
