"""Ships under way in the bay: how often each was heard in each minute, and its greatest speed."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, from_json, struct, to_json, window
from pyspark.sql.functions import max as greatest

BROKERS = os.environ["S2G_BOOTSTRAP"]
SCHEMA = "ship LONG, kind STRING, lat DOUBLE, lon DOUBLE, knots DOUBLE, at TIMESTAMP"

spark = SparkSession.builder.appName("watch").getOrCreate()
positions = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "positions")
    .option("startingOffsets", "earliest")
    .load()
    .select(from_json(col("value").cast("string"), SCHEMA).alias("event"))
    .select("event.*")
)
under_way = positions.where("knots > 0.5 AND kind != 'pilot' AND lat BETWEEN 53.5 AND 54.8 AND lon > 7.2")
traffic = (
    under_way.withWatermark("at", "1 hour")
    .groupBy("ship", window("at", "1 minute"))
    .agg(count("*").alias("heard"), greatest("knots").alias("knots"))
    .selectExpr("ship", "date_format(window.start, 'HH:mm') AS minute", "heard", "knots")
)
query = (
    traffic.select(
        col("ship").cast("string").alias("key"),
        to_json(struct("ship", "minute", "heard", "knots")).alias("value"),
    )
    .writeStream.queryName("traffic")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "traffic")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/traffic")
    .outputMode("update")
    .start()
)
query.awaitTermination()
