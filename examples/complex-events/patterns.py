"""Four patterns over one stream, each a stateful query in event time, with a minute of disorder allowed.

takeover  a sequence: a SIM card is swapped, then a premium number is called within five minutes
cut       a negation: a call is set up, and not released within two minutes
retries   a Kleene closure: three failed attempts or more in a row, then a success, at most 20 s between any two
crowd     a window: fifteen handovers or more into one cell within a minute
"""

import os

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, expr, from_json, session_window, struct, to_json, window

BROKERS = os.environ["S2G_BOOTSTRAP"]
SCHEMA = "kind STRING, who STRING, call INT, cell STRING, ok BOOLEAN, at TIMESTAMP"
spark = SparkSession.builder.appName("patterns").getOrCreate()


def records(kind: str) -> DataFrame:
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("subscribe", "records")
        .option("startingOffsets", "earliest")
        .load()
        .select(from_json(col("value").cast("string"), SCHEMA).alias("record"))
        .select("record.*")
        .where(col("kind") == kind)
        .withWatermark("at", "1 minute")
    )


def takeovers() -> DataFrame:
    swaps = records("swap").selectExpr("who", "at AS swapped")
    dialled = records("premium").selectExpr("who AS caller", "at AS dialled")
    within = "caller = who AND dialled > swapped AND dialled <= swapped + INTERVAL 5 MINUTES"
    return swaps.join(dialled, expr(within)).selectExpr("who", "dialled AS at", "0 AS count")


def cuts() -> DataFrame:
    setups = records("setup").selectExpr("who", "call", "at")
    releases = records("release").selectExpr("call AS ended", "at AS released")
    within = "ended = call AND released >= at AND released <= at + INTERVAL 2 MINUTES"
    return (
        setups.join(releases, expr(within), "leftOuter")
        .where("ended IS NULL")
        .selectExpr("who", "at", "call AS count")
    )


def retries() -> DataFrame:
    """The attempts of one session as a word of F and S, in which a regular expression finds F, F, F+ and S."""
    session = records("attempt").groupBy("who", session_window("at", "20 seconds").alias("session"))
    word = session.agg(
        expr("sort_array(collect_list(struct(at, IF(ok, 'S', 'F') AS letter)))").alias("attempts")
    ).withColumn("word", expr("array_join(transform(attempts, one -> one.letter), '')"))
    runs = word.withColumn("run", expr("regexp_extract(word, '(F{3,})S', 1)")).where("run <> ''")
    return runs.selectExpr("who", "attempts[locate(concat(run, 'S'), word) - 1].at AS at", "length(run) AS count")


def crowds() -> DataFrame:
    into = records("handover").groupBy("cell", window("at", "1 minute", "30 seconds").alias("in"))
    return (
        into.agg(count("*").alias("count")).where("count >= 15").selectExpr("cell AS who", "in.start AS at", "count")
    )


patterns = {"takeover": takeovers(), "cut": cuts(), "retries": retries(), "crowd": crowds()}
for name, found in patterns.items():
    told = found.selectExpr(
        f"'{name}' AS pattern", "who", "date_format(at, 'HH:mm:ss') AS at", "CAST(count AS INT) AS count"
    )
    (
        told.select(to_json(struct("*")).alias("value"))
        .writeStream.queryName(name)
        .outputMode("append")
        .format("kafka")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("topic", "events")
        .option("checkpointLocation", f"{os.environ['S2G_CHECKPOINT']}/{name}")
        .start()
    )
spark.streams.awaitAnyTermination()
