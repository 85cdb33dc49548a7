"""The speed layer: counts the views of each page in each slice of the log (50 messages) as they come."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, from_json, struct, to_json

BROKERS = os.environ["S2G_BOOTSTRAP"]
spark = SparkSession.builder.appName("speed-layer").getOrCreate()
views = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "views")
    .option("startingOffsets", "earliest")
    .load()
    .select(
        from_json(col("value").cast("string"), "page STRING").alias("view"),
        (col("offset") / 50).cast("long").alias("slice"),
    )
)
counts = views.groupBy("view.page", "slice").agg(count("*").alias("count"))
(
    counts.select(to_json(struct("page", "slice", "count")).alias("value"))
    .writeStream.outputMode("update")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "speed")
    .option("checkpointLocation", f"{os.environ['S2G_CHECKPOINT']}/speed")
    .start()
    .awaitTermination()
)
