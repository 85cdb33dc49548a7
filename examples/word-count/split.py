"""Job 1: a message is a file; for each file, how often each of its words occurs."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, explode, lower, regexp_extract, split, struct, to_json, trim

BROKERS = os.environ["S2G_BOOTSTRAP"]

spark = SparkSession.builder.appName("split").getOrCreate()
files = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "files")
    .option("startingOffsets", "earliest")
    .load()
    .select(col("value").cast("string").alias("text"))
)
words = (
    files.select(
        regexp_extract("text", r" File: (\d+)$", 1).alias("file"),
        explode(split(lower(trim(regexp_extract("text", r"(?s)^(.*) Topic: ", 1))), r"[^a-z]+")).alias("word"),
    )
    .where("word != ''")
    .groupBy("file", "word")
    .count()
)
query = (
    words.select(col("file").alias("key"), to_json(struct("file", "word", "count")).alias("value"))
    .writeStream.queryName("split")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "counts")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/split")
    .outputMode("update")
    .start()
)
query.awaitTermination()
