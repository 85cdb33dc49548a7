"""Job 2: waits for the announcement of a model, loads it and judges every payment of the stream."""

import json
import os

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from pyspark.ml import PipelineModel
from pyspark.ml.functions import vector_to_array
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json, struct, to_json

BROKERS = os.environ["S2G_BOOTSTRAP"]
SCHEMA = "payment INT, amount DOUBLE, distance_km DOUBLE, gap_minutes DOUBLE, night DOUBLE, abroad DOUBLE"


def announced_model() -> str:
    """Where the model is, as soon as the topic says so; the run ends a wait that takes too long."""
    consumer = Consumer({"bootstrap.servers": BROKERS, "group.id": "score", "enable.auto.commit": False})
    consumer.assign([TopicPartition("models", 0, OFFSET_BEGINNING)])
    while (message := consumer.poll(1.0)) is None or message.error():
        pass
    consumer.close()
    return json.loads(message.value())["model"]


spark = SparkSession.builder.appName("score").getOrCreate()
model = PipelineModel.load(announced_model())
payments = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("subscribe", "payments")
    .option("startingOffsets", "earliest")
    .load()
    .select(from_json(col("value").cast("string"), SCHEMA).alias("event"))
    .select("event.*")
)
scores = model.transform(payments).select(
    "payment",
    vector_to_array("probability")[1].alias("probability"),
    (col("prediction") == 1).alias("fraud"),
)
query = (
    scores.select(to_json(struct("payment", "probability", "fraud")).alias("value"))
    .writeStream.queryName("scores")
    .format("kafka")
    .option("kafka.bootstrap.servers", BROKERS)
    .option("topic", "scores")
    .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/scores")
    .start()
)
query.awaitTermination()
