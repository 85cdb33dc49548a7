"""The batch layer: every five seconds it counts the views of each page again, from the beginning of the log.

It ends at a whole slice of the log (50 messages), and says with every count up to which slice it counted.
"""

import os
import time

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, from_json, lit, struct, to_json

BROKERS = os.environ["S2G_BOOTSTRAP"]
SLICE = 50
EVERY_S = 5
spark = SparkSession.builder.appName("batch-layer").getOrCreate()
asking = Consumer({"bootstrap.servers": BROKERS, "group.id": "batch-layer"})


def count_views(slices: int) -> None:
    views = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("subscribe", "views")
        .option("startingOffsets", "earliest")
        .option("endingOffsets", f'{{"views": {{"0": {slices * SLICE}}}}}')
        .load()
        .select(from_json(col("value").cast("string"), "page STRING").alias("view"))
    )
    counts = views.groupBy("view.page").agg(count("*").alias("count")).withColumn("slices", lit(slices))
    (
        counts.select(to_json(struct("page", "count", "slices")).alias("value"))
        .write.format("kafka")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("topic", "batch")
        .save()
    )


done = 0
while True:
    _, end = asking.get_watermark_offsets(TopicPartition("views", 0), timeout=30)
    if end // SLICE > done:
        done = end // SLICE
        count_views(done)
    time.sleep(EVERY_S)
