"""Replaces every message by the digest of what it is 16,000 times over, with Spark: work that needs a CPU."""

import os
import sys

from pyspark.sql import SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]
TRIGGERS = {"micro-batch": {"processingTime": "0 seconds"}, "real-time": {"realTime": "5 seconds"}}

spark = SparkSession.builder.appName("digest").getOrCreate()
query = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "in")
    .option("startingOffsets", "earliest")
    .load()
    .selectExpr("sha2(repeat(cast(value AS STRING), 16000), 256) AS value")
    .writeStream.queryName("digest")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "out")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/digest")
    .outputMode("update")
    .trigger(**TRIGGERS[sys.argv[1]])
    .start()
)
query.awaitTermination()
