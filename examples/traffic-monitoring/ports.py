"""Packets, bytes and users of each port in each ten seconds."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import approx_count_distinct, col, count, from_json, struct, to_json, window
from pyspark.sql.functions import sum as total

BROKERS = os.environ["S2G_BOOTSTRAP"]
SCHEMA = "user INT, packet INT, port INT, bytes LONG, at TIMESTAMP"

spark = SparkSession.builder.appName("ports").getOrCreate()
flows = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "flows")
    .option("startingOffsets", "earliest")
    .load()
    .select(from_json(col("value").cast("string"), SCHEMA).alias("flow"))
    .select("flow.*")
)
ports = (
    flows.withWatermark("at", "1 hour")
    .groupBy("port", window("at", "10 seconds"))
    .agg(
        count("*").alias("packets"),
        total("bytes").alias("bytes"),
        approx_count_distinct("user").alias("users"),
    )
    .selectExpr("port", "date_format(window.start, 'HH:mm:ss') AS start", "packets", "bytes", "users")
)
query = (
    ports.select(to_json(struct("port", "start", "packets", "bytes", "users")).alias("value"))
    .writeStream.queryName("ports")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "ports")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/ports")
    .outputMode("update")
    .start()
)
query.awaitTermination()
