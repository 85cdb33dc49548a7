"""Job 1: what kind of document is it? Each goes on to the topic of its kind."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json, when

BROKERS = os.environ["S2G_BOOTSTRAP"]

spark = SparkSession.builder.appName("sort").getOrCreate()
documents = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "scans,uploads")
    .option("startingOffsets", "earliest")
    .load()
    .select("value", from_json(col("value").cast("string"), "id STRING, text STRING").alias("document"))
)
text = col("document.text")
kind = (
    when(text.rlike(r"^From: \S+@\S+\n"), "mails")
    .when(text.rlike(r"\nTotal: \d+\.\d\d EUR$"), "invoices")
    .otherwise("articles")
)
query = (
    documents.select(kind.alias("topic"), col("document.id").alias("key"), "value")
    .writeStream.queryName("sort")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/sort")
    .start()
)
query.awaitTermination()
