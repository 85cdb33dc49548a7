"""The job: adds 19 % tax to every order, rounded down to whole cents."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr, from_json, struct, to_json

BROKERS = os.environ["S2G_BOOTSTRAP"]

spark = SparkSession.builder.appName("bills").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "orders")
    .option("startingOffsets", "earliest")
    .load()
    .select(from_json(col("value").cast("string"), "id INT, cents INT").alias("order"))
    .select("order.id", expr("order.cents * 119 div 100").alias("total"))
)
query = (
    orders.select(to_json(struct("id", "total")).alias("value"))
    .writeStream.queryName("bills")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "bills")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/bills")
    .start()
)
query.awaitTermination()
