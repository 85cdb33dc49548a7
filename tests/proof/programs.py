"""The Spark programs of the proof: each hangs once, between its output and its checkpoint, until it is killed."""

from __future__ import annotations

_START = """
import json, os, time
from pathlib import Path
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
brokers = os.environ["S2G_BOOTSTRAP"]
mark, total = Path(os.environ["S2G_OUT"]) / "hung", 0
messages = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", "in")
            .option("startingOffsets", "earliest").option("includeHeaders", "true").load())


def hang_once(rows):
    global total
    total += rows
    if total < 1000 or mark.exists():
        return
    mark.touch()
    print("S2G " + json.dumps({"event": "output-without-checkpoint", "rows": rows}), flush=True)
    time.sleep(3600)

"""
_END = """

query = (messages.writeStream.queryName("copy").foreachBatch(write)
         .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy").start())
query.awaitTermination()
"""
TO_TOPIC = (
    _START
    + """
def write(batch, number):
    batch.persist()
    (batch.select("key", "value", "headers").write.format("kafka").option("kafka.bootstrap.servers", brokers)
     .option("topic", "out").option("includeHeaders", "true").save())
    hang_once(batch.count())
"""
    + _END
)
TO_STORE = (
    _START
    + """
import pymysql


def write(batch, number):
    names = batch.selectExpr("cast(filter(headers, h -> h.key = 's2g')[0].value as string)")
    ids = [(row[0],) for row in names.collect()]
    db = pymysql.connect(
        host=os.environ["S2G_STORE_HOST"], port=int(os.environ["S2G_STORE_PORT"]), user=os.environ["S2G_STORE_USER"],
        password=os.environ["S2G_STORE_PASSWORD"], database=os.environ["S2G_STORE_DATABASE"], autocommit=False)
    with db, db.cursor() as cursor:
        if ids:
            cursor.executemany("REPLACE INTO keyed (id) VALUES (%s)", ids)
            cursor.executemany("INSERT INTO plain (id) VALUES (%s)", ids)
        db.commit()
    hang_once(len(ids))
"""
    + _END
)
LOOK = """
from collections import Counter
from stream2gym.check_api import compare, table

rows = Counter(row["id"] for row in table("db", "keyed"))
compare(expected=dict.fromkeys((row["id"] for row in table("db", "plain")), 1), found=dict(rows))
"""
