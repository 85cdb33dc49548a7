"""Counts measurements in windows of two seconds, each measurement once, as long as the watermark waits for it."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, from_json, struct, to_json, window

BROKERS = os.environ["S2G_BOOTSTRAP"]
WATERMARK = f"{os.environ['WATERMARK'].removesuffix('s')} seconds"
spark = SparkSession.builder.appName("count").getOrCreate()
measurements = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "measurements")
    .option("startingOffsets", "earliest")
    .load()
    .select(from_json(col("value").cast("string"), "id INT, at TIMESTAMP").alias("one"))
    .select("one.*")
    .withWatermark("at", WATERMARK)
)
once = measurements.dropDuplicatesWithinWatermark(["id"])
windows = once.groupBy(window("at", "2 seconds").alias("in")).agg(count("*").alias("count"))
(
    windows.selectExpr("date_format(in.start, 'HH:mm:ss') AS start", "count")
    .select(to_json(struct("*")).alias("value"))
    .writeStream.outputMode("append")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", os.environ.get("OUT", "windows"))
    .option("checkpointLocation", f"{os.environ['S2G_CHECKPOINT']}/windows")
    .start()
    .awaitTermination()
)
