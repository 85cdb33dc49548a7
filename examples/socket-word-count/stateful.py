"""Counts the words of all lines from a socket: Spark keeps a count for each word and tells the new ones."""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, explode, split

host, port = sys.argv[1:]
out = Path(os.environ["S2G_OUT"])
out.mkdir(parents=True, exist_ok=True)
spark = SparkSession.builder.appName("stateful").getOrCreate()
lines = spark.readStream.format("socket").option("host", host).option("port", port).load()
counts = lines.select(explode(split(col("value"), " ")).alias("word")).groupBy("word").count()


def write(batch: DataFrame, number: int) -> None:
    with (out / "totals.jsonl").open("a") as file:
        for row in batch.collect():
            file.write(json.dumps({"batch": number, "word": row["word"], "total": row["count"]}) + "\n")


counts.writeStream.outputMode("update").foreachBatch(write).start().awaitTermination()
