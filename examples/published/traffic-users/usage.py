"""The traffic of each user in every interval: packets, bytes, and a digest of what the packets hold.

The number of users is in the environment, so that a batch is never more than the traffic of one interval. What an
interval costs is then comparable also where a batch takes longer than the interval.
"""

import os

from pyspark.sql import DataFrame, SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]
USERS = int(os.environ["USERS"])
PACKETS_A_SECOND = 5  # of each user, as the experiment offers them
INTERVAL_S = 2
PARTITIONS = 3
ROUNDS = 2000  # how often each packet is digested: what the workers have to do
# For each worker. They share the tasks of a rehearsal, and every one of them has to compile the code.
REHEARSALS = 3
REHEARSALS_WITH_KAFKA = 4  # they take longer: each makes consumers and producers of its own


def inspect(packets: DataFrame) -> DataFrame:
    """The traffic of each user."""
    digest = f"aggregate(sequence(1, {ROUNDS}), 0L, (sum, round) -> xxhash64(sum, round, value))"
    inspected = packets.selectExpr("key", "length(value) AS bytes", f"{digest} AS digest")
    return (
        inspected.groupBy("key")
        .agg({"*": "count", "bytes": "sum", "digest": "max"})
        .selectExpr(
            "key",
            "to_json(struct(string(key) AS user, `count(1)` AS packets, `sum(bytes)` AS bytes, "
            "`max(digest)` AS digest)) AS value",
        )
    )


def write(rows: DataFrame, topic: str) -> None:
    rows.write.format("kafka").option("kafka.bootstrap.servers", BROKERS).option("topic", topic).save()


def rehearse(spark: SparkSession) -> None:
    """Process made packets, with topics of their own: the first batches of a JVM take much longer than the others."""
    workers = int(spark.conf.get("spark.cores.max"))
    numbers = spark.range(0, USERS * PACKETS_A_SECOND * INTERVAL_S, 1, PARTITIONS)
    made = numbers.selectExpr(f"binary(string(id % {USERS})) AS key", "binary(repeat('x', 300)) AS value")
    for _ in range(REHEARSALS * workers):
        inspect(made).write.format("noop").mode("overwrite").save()
    write(made, "rehearsal")
    read = spark.read.format("kafka").option("kafka.bootstrap.servers", BROKERS).option("subscribe", "rehearsal")
    for _ in range(REHEARSALS_WITH_KAFKA * workers):
        write(inspect(read.load()), "rehearsed")


spark = SparkSession.builder.appName("usage").getOrCreate()
rehearse(spark)
packets = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "packets")
    .option("maxOffsetsPerTrigger", USERS * PACKETS_A_SECOND * INTERVAL_S)
    .load()
)
query = (
    packets.writeStream.queryName("usage")
    .foreachBatch(lambda batch, _number: write(inspect(batch), "traffic"))
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/usage")
    .trigger(processingTime=f"{INTERVAL_S} seconds")
    .start()
)
query.awaitTermination()
