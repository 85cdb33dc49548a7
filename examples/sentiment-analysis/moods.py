"""Polarity (-1 to 1) and subjectivity (0 to 1) of every post, by TextBlob's lexicon."""

import os

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, struct, to_json, udf
from textblob import TextBlob

BROKERS = os.environ["S2G_BOOTSTRAP"]
spark = SparkSession.builder.appName("moods").getOrCreate()


@udf("polarity DOUBLE, subjectivity DOUBLE")
def mood(text: str) -> tuple[float, float]:
    found = TextBlob(text).sentiment
    return round(found.polarity, 4), round(found.subjectivity, 4)


posts = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "posts")
    .option("startingOffsets", "latest")
    .load()
    .select(col("value").cast("string").alias("text"))
)
judged = posts.withColumn("mood", mood("text")).select("text", "mood.polarity", "mood.subjectivity")
query = (
    judged.select(to_json(struct("text", "polarity", "subjectivity")).alias("value"))
    .writeStream.queryName("moods")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "moods")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/moods")
    .start()
)
query.awaitTermination()
