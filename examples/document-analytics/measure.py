"""Job 2, two queries over all kinds: how long documents are, and the words that tell a kind from the others.

Keywords are by tf-idf with each kind taken as one text: how often a word occurs in a kind, times the logarithm
of the number of kinds over the number of kinds that have the word.
"""

import os

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, explode, expr, split, struct, to_json
from pyspark.sql.functions import filter as those

BROKERS = os.environ["S2G_BOOTSTRAP"]
KINDS = ("mails", "invoices", "articles")
KEYWORDS = f"""
    WITH scores AS (
      SELECT kind, word, round(times * ln({len(KINDS)} / count(*) OVER (PARTITION BY word)), 3) AS score FROM words),
    ranked AS (
      SELECT kind, slice(array_sort(collect_list(struct(-score AS less, word))), 1, 5) AS best
      FROM scores WHERE score > 0 GROUP BY kind)
    SELECT kind, transform(best, one -> struct(one.word, -one.less AS score)) AS keywords FROM ranked"""

spark = SparkSession.builder.appName("measure").config("spark.sql.shuffle.partitions", "1").getOrCreate()
documents = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", ",".join(KINDS))
    .option("startingOffsets", "earliest")
    .load()
    .select(
        col("topic").alias("kind"),
        expr("lower(get_json_object(cast(value AS STRING), '$.text'))").alias("text"),
    )
    .select("kind", those(split("text", "[^a-z]+"), lambda word: word != "").alias("words"))
)


def to_kafka(rows: DataFrame, topic: str) -> DataFrame:
    value = to_json(struct(*rows.columns)).alias("value")
    return rows.select(col("kind").alias("key"), value, expr(f"'{topic}'").alias("topic"))


def say_keywords(words: DataFrame, _batch: int) -> None:
    words.createOrReplaceTempView("words")
    keywords = to_kafka(words.sparkSession.sql(KEYWORDS), "keywords")
    keywords.write.format("kafka").option("kafka.bootstrap.servers", BROKERS).save()


lengths = (
    documents.selectExpr("kind", "size(words) AS words")
    .groupBy("kind")
    .agg(
        expr("count(*) AS documents"),
        expr("min(words) AS shortest"),
        expr("percentile(words, 0.5) AS median"),
        expr("max(words) AS longest"),
    )
)
(
    to_kafka(lengths, "lengths")
    .writeStream.queryName("lengths")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/lengths")
    .outputMode("update")
    .start()
)
(
    documents.select("kind", explode("words").alias("word"))
    .groupBy("kind", "word")
    .agg(expr("count(*) AS times"))
    .writeStream.queryName("keywords")
    .foreachBatch(say_keywords)
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/keywords")
    .outputMode("complete")
    .start()
)
spark.streams.awaitAnyTermination()
