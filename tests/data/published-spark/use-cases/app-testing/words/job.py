"""Written as such programs were for Spark 3: addresses and paths in constants, a context, an RDD, lenient casts."""

import logging

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, explode, split

logging.basicConfig(filename="logs/output/spark1.log", level=logging.INFO)
spark = SparkSession.builder.appName("words").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
logging.info("first of three: %s", spark.sparkContext.parallelize([3, 1, 2]).sortBy(lambda n: n).first())
nothing = spark.sql("SELECT CAST('no number' AS INT) AS n").first()
logging.info("a cast that fails gives %s", nothing["n"])

lines = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "10.0.0.2:9092")
    .option("subscribe", "inTopic")
    .option("startingOffsets", "earliest")
    .load()
)
words = lines.select(explode(split(col("value").cast("string"), " ")).alias("value"))
query = (
    words.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", "10.0.0.2:9092")
    .option("topic", "outTopic")
    .option("checkpointLocation", "logs/output/words_checkpoint")
    .start()
)
query.awaitTermination(timeout=120)
query.stop()
