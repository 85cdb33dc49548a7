"""The host's own broker, as published programs find it; logs where they are promised; a note beside the program."""

import logging
import os
import sys

from kafka import KafkaProducer

host, instance = sys.argv[1:3]
logging.basicConfig(
    filename=f"logs/output/prod/prod-node{host[1:]}-instance{instance}.log",
    format="%(asctime)s %(levelname)s:%(message)s",
    level=logging.INFO,
)
producer = KafkaProducer(bootstrap_servers=f"10.0.0.{host[1:]}:9092")
for number in range(10):
    producer.send("own", value=f"{instance}-{number}".encode()).get(timeout=30)
    logging.info("Topic-name: own; Message ID: %06d; Message: %s-%s", number, instance, number)
with open(os.path.join(os.path.dirname(__file__), f"note-{instance}.txt"), "w") as note:
    note.write("done")
