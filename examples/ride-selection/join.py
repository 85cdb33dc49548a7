"""Joins rides with the fares paid within ten minutes, in event time, and sums tips by area and five minutes."""

import os

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, expr, from_json, struct, to_json, window
from pyspark.sql.functions import sum as total

BROKERS = os.environ["S2G_BOOTSTRAP"]
spark = SparkSession.builder.appName("join").getOrCreate()


def events(topic: str, schema: str, time: str) -> DataFrame:
    """A topic of JSON events, two minutes of disorder allowed."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
        .select(from_json(col("value").cast("string"), schema).alias("event"))
        .select("event.*")
        .withWatermark(time, "2 minutes")
    )


rides = events("rides", "ride INT, area STRING, started TIMESTAMP", "started")
fares = events("fares", "ride INT, tip_cents LONG, paid TIMESTAMP", "paid").withColumnRenamed("ride", "paid_ride")
joined = rides.join(fares, expr("ride = paid_ride AND paid >= started AND paid <= started + INTERVAL 10 MINUTES"))
tips = joined.groupBy("area", window("started", "5 minutes")).agg(
    count("*").alias("rides"), total("tip_cents").alias("tips")
)
rows = tips.selectExpr("area", "date_format(window.start, 'HH:mm') AS start", "rides", "tips")
query = (
    rows.select(to_json(struct("area", "start", "rides", "tips")).alias("value"))
    .writeStream.queryName("tips")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "tips")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/tips")
    .outputMode("append")
    .start()
)
query.awaitTermination()
