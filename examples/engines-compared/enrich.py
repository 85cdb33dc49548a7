"""Joins every order with the price of its product, which is the latest message of a compacted topic, with Spark."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr, from_json, get_json_object, struct, to_json

BROKERS = os.environ["S2G_BOOTSTRAP"]
spark = SparkSession.builder.appName("enrich").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "orders")
    .option("startingOffsets", "earliest")
    .load()
    .select(from_json(col("value").cast("string"), "id INT, product STRING").alias("one"))
    .select("one.*")
)
# Every micro-batch reads the table as it is then.
prices = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "prices")
    .load()
    .groupBy(col("key").cast("string").alias("product"))
    .agg(expr("max_by(cast(value AS STRING), offset)").alias("latest"))
    .select("product", get_json_object("latest", "$.price").cast("int").alias("price"))
)
(
    orders.join(prices, "product")
    .select(to_json(struct("id", "product", "price")).alias("value"))
    .writeStream.outputMode("append")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "enriched")
    .option("checkpointLocation", f"{os.environ['S2G_CHECKPOINT']}/enrich")
    .start()
    .awaitTermination()
)
