"""As such programs were written for Spark 3: addresses in constants, packages in the code, a UDF, foreachBatch."""

import logging

from pyspark.sql import SparkSession
from pyspark.sql.functions import array, col, lit, split, struct, to_json, udf
from pyspark.sql.types import DoubleType
from textblob import TextBlob

logging.basicConfig(filename="logs/output/spark1.log", level=logging.INFO)
spark = (
    SparkSession.builder.appName("opinions")
    .config("spark.jars.packages", "org.apache.spark:spark-sql-kafka-0-10_2.12:3.2.1")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
logging.info("master %s", spark.sparkContext.master)

reviews = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "10.0.0.1:9092")
    .option("subscribe", "reviews")
    .option("startingOffsets", "latest")
    .load()
)
parts = split(col("value").cast("string"), ",")
polarity = udf(lambda text: TextBlob(text).sentiment.polarity, DoubleType())
rows = reviews.select(
    parts[0].cast("int").alias("customer"), parts[1].cast("int").alias("none"), polarity(parts[1]).alias("polarity")
)
fields = [("int32", "customer"), ("int32", "none"), ("double", "polarity")]
described = [
    struct(lit(kind).alias("type"), lit(True).alias("optional"), lit(name).alias("field")) for kind, name in fields
]
schema = struct(lit("struct").alias("type"), array(*described).alias("fields"))


def send(batch, number):
    payload = struct(*[col(name) for _, name in fields])
    out = batch.select(to_json(struct(schema.alias("schema"), payload.alias("payload"))).alias("value"))
    out.write.format("kafka").option("kafka.bootstrap.servers", "10.0.0.1:9092").option("topic", "opinions").save()
    logging.info("batch %s", number)


query = rows.writeStream.foreachBatch(send).option("checkpointLocation", "logs/output/opinions_checkpoint").start()
query.awaitTermination()
