"""Three rules over one log, each a stateful query in event time, with a minute of disorder allowed.

scan    a count in a window: one source tries 20 ports of one target within a minute
guess   a sequence: five failed logins or more, then a success, of one user from one source within two minutes
bare    a negation: a login from outside, and no VPN session of that user in the ten minutes before
"""

import os

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, collect_set, count, expr, from_json, size, struct, to_json, window

BROKERS = os.environ["S2G_BOOTSTRAP"]
SCHEMA = "event INT, kind STRING, source STRING, target STRING, port INT, user STRING, ok BOOLEAN, at TIMESTAMP"
spark = SparkSession.builder.appName("rules").getOrCreate()


def events(kind: str) -> DataFrame:
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("subscribe", "log")
        .option("startingOffsets", "earliest")
        .load()
        .select(from_json(col("value").cast("string"), SCHEMA).alias("event"))
        .select("event.*")
        .where(col("kind") == kind)
        .withWatermark("at", "1 minute")
    )


def scans() -> DataFrame:
    tried = events("connect").groupBy("source", "target", window("at", "1 minute", "30 seconds").alias("in"))
    ports = tried.agg(size(collect_set("port")).alias("count")).where("count >= 20")
    return ports.selectExpr("source", "target AS what", "in.start AS at", "count")


def guesses() -> DataFrame:
    failures = events("login").where("NOT ok").selectExpr("source AS s", "user AS u", "at AS failed")
    successes = events("login").where("ok").select("event", "source", "user", "at")
    before = expr("source = s AND user = u AND failed < at AND failed >= at - INTERVAL 2 MINUTES")
    followed = successes.join(failures, before).groupBy("event", "source", "user", window("at", "1 second"))
    enough = followed.agg(count("*").alias("count")).where("count >= 5")
    return enough.selectExpr("source", "user AS what", "window.start AS at", "count")


def bare_logins() -> DataFrame:
    sessions = events("vpn").selectExpr("user AS u", "at AS opened")
    outside = events("login").where("ok AND source NOT LIKE '10.%'").select("source", "user", "at")
    covered = expr("user = u AND opened <= at AND opened >= at - INTERVAL 10 MINUTES")
    alone = outside.join(sessions, covered, "leftOuter").where("opened IS NULL")
    return alone.selectExpr("source", "user AS what", "at", "0 AS count")


for rule, alarms in (("scan", scans()), ("guess", guesses()), ("bare", bare_logins())):
    rows = alarms.selectExpr(f"'{rule}' AS rule", "source", "what", "date_format(at, 'HH:mm:ss') AS at", "count")
    (
        rows.select(to_json(struct("rule", "source", "what", "at", "count")).alias("value"))
        .writeStream.queryName(rule)
        .format("kafka")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("topic", "alarms")
        .option("checkpointLocation", f"{os.environ['S2G_CHECKPOINT']}/{rule}")
        .outputMode("append")
        .start()
    )
spark.streams.awaitAnyTermination()
