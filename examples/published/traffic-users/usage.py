"""The traffic of each user in every interval: packets, bytes, and a digest of what the packets hold.

The number of users is in the environment, so that a batch is never more than the traffic of one interval. What an
interval costs is then comparable also where a batch takes longer than the interval.
"""

import os

from pyspark.sql import DataFrame, SparkSession

BROKERS = os.environ["S2G_BOOTSTRAP"]
USERS = int(os.environ["USERS"])
PACKETS_A_SECOND = 25  # of each user, as the experiment offers them
INTERVAL_S = 2
PARTITIONS = 6
ROUNDS = 200  # how often each packet is digested: what the workers have to do
WARM_UPS = 5


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


def publish(packets: DataFrame, _number: int) -> None:
    traffic = inspect(packets.select("key", "value"))
    traffic.write.format("kafka").option("kafka.bootstrap.servers", BROKERS).option("topic", "traffic").save()


spark = SparkSession.builder.appName("usage").getOrCreate()
# The first batches of a JVM take many times as long as the others. They are over when the load begins.
for _ in range(WARM_UPS):
    made = spark.range(0, USERS * PACKETS_A_SECOND * INTERVAL_S, 1, PARTITIONS)
    keyed = made.selectExpr(f"binary(string(id % {USERS})) AS key", "binary(repeat('x', 300)) AS value")
    inspect(keyed).write.format("noop").mode("overwrite").save()
packets = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "packets")
    .option("maxOffsetsPerTrigger", USERS * PACKETS_A_SECOND * INTERVAL_S)
    .load()
)
query = (
    packets.writeStream.queryName("usage")
    .foreachBatch(publish)
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/usage")
    .trigger(processingTime=f"{INTERVAL_S} seconds")
    .start()
)
query.awaitTermination()
