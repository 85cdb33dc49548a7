"""Counts the words of each batch of lines from a socket; what earlier batches had is forgotten."""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, explode, split

host, port = sys.argv[1:]
out = Path(os.environ["S2G_OUT"])
out.mkdir(parents=True, exist_ok=True)
spark = SparkSession.builder.appName("stateless").getOrCreate()
lines = spark.readStream.format("socket").option("host", host).option("port", port).load()
words = lines.select(explode(split(col("value"), " ")).alias("word"))


def write(batch: DataFrame, number: int) -> None:
    rows = batch.groupBy("word").count().collect()
    with (out / "counts.jsonl").open("a") as file:
        file.writelines(
            json.dumps({"batch": number, "word": row["word"], "count": row["count"]}) + "\n" for row in rows
        )


words.writeStream.foreachBatch(write).start().awaitTermination()
