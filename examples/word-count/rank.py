"""Job 2: how often each word occurs in all files so far, whenever that changes."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json, struct, to_json
from pyspark.sql.functions import sum as total

BROKERS = os.environ["S2G_BOOTSTRAP"]

spark = SparkSession.builder.appName("rank").getOrCreate()
counts = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "counts")
    .option("startingOffsets", "earliest")
    .load()
    .select(from_json(col("value").cast("string"), "file STRING, word STRING, count LONG").alias("row"))
    .select("row.*")
)
ranked = counts.groupBy("word").agg(total("count").alias("total"))
query = (
    ranked.select(col("word").alias("key"), to_json(struct("word", "total")).alias("value"))
    .writeStream.queryName("rank")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "top")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/rank")
    .outputMode("update")
    .start()
)
query.awaitTermination()
