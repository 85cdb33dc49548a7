"""Job 1: trains a logistic regression on past payments, saves it and announces it in a topic.

Every fourth row is held out: how many of the alarms there are right (precision) and how much of the fraud they find
(recall) goes into the record and into the announcement.
"""

import json
import os
from pathlib import Path

from confluent_kafka import Producer
from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import SQLTransformer, VectorAssembler
from pyspark.sql import SparkSession

TRAINING = Path(__file__).parent / "training.csv"
SCHEMA = "row INT, amount DOUBLE, distance_km DOUBLE, gap_minutes DOUBLE, night DOUBLE, abroad DOUBLE, fraud DOUBLE"
SCALES = "log1p(amount) AS size, log1p(distance_km) AS distance, log1p(gap_minutes) AS pause"
FEATURES = ["size", "distance", "pause", "night", "abroad"]

spark = SparkSession.builder.appName("train").getOrCreate()
rows = spark.read.csv(TRAINING.as_uri(), schema=SCHEMA, header=True).cache()
pipeline = Pipeline(
    stages=[
        SQLTransformer(statement=f"SELECT *, {SCALES} FROM __THIS__"),
        VectorAssembler(inputCols=FEATURES, outputCol="features"),
        LogisticRegression(labelCol="fraud", regParam=0.001),
    ]
)
model = pipeline.fit(rows.where("row % 4 != 0"))
counts = model.transform(rows.where("row % 4 = 0")).selectExpr(
    "count_if(prediction = 1 AND fraud = 1) AS hits", "sum(prediction) AS alarms", "sum(fraud) AS frauds"
)
held_out = counts.first()
stated = {"precision": held_out.hits / held_out.alarms, "recall": held_out.hits / held_out.frauds}
print(f"S2G {json.dumps(stated)}", flush=True)

folder = Path(os.environ["S2G_OUT"]) / "model"  # in the run folder, which all hosts see like a shared disk
model.write().overwrite().save(folder.as_uri())
regression = model.stages[-1]
announcement = {
    "model": folder.as_uri(),
    **stated,
    "coefficients": dict(zip(FEATURES, map(float, regression.coefficients), strict=True)),
    "intercept": regression.intercept,
}
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "acks": "all"})
producer.produce("models", json.dumps(announcement))
if producer.flush(60):
    raise SystemExit("the model could not be announced")
